/* A reader of nested settings, "a=1;b=[c=x;d=2]", that takes anything and fails never. */
#include <stddef.h>

int count(const unsigned char *data, size_t len)
{
	int depth = 0, most = 0, pairs = 0, numbers = 0, in_value = 0, name = 0, value = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = data[i];
		if (byte == '[') {
			depth++;
			most = depth > most ? depth : most;
			name = in_value = 0;
		} else if (byte == ']' && depth) {
			depth--;
		} else if (byte == '=' && name) {
			in_value = 1;
			value = digits = 0;
		} else if (byte == ';' || byte == ']') {
			pairs += in_value && value;
			numbers += in_value && value && digits == value;
			name = in_value = 0;
		} else if (in_value) {
			value++;
			digits += byte >= '0' && byte <= '9';
		} else if (byte >= 'a' && byte <= 'z') {
			name++;
		}
	}
	return pairs + numbers + most;
}
