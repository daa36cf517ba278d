/** A reader of nested settings, "a=1;b=[c=x;d=2]", that takes anything and fails never. */
public class Parser {
    public static int count(byte[] data) {
        int depth = 0, most = 0, pairs = 0, numbers = 0, name = 0, value = 0, digits = 0;
        boolean inValue = false;
        for (byte each : data) {
            if (each == '[') {
                depth++;
                most = Math.max(most, depth);
                name = 0;
                inValue = false;
            } else if (each == ']' && depth > 0) {
                depth--;
            } else if (each == '=' && name > 0) {
                inValue = true;
                value = digits = 0;
            } else if (each == ';' || each == ']') {
                pairs += inValue && value > 0 ? 1 : 0;
                numbers += inValue && value > 0 && digits == value ? 1 : 0;
                name = 0;
                inValue = false;
            } else if (inValue) {
                value++;
                digits += each >= '0' && each <= '9' ? 1 : 0;
            } else if (each >= 'a' && each <= 'z') {
                name++;
            }
        }
        return pairs + numbers + most;
    }
}
