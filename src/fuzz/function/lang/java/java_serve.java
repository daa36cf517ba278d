/* Calls one method with JSON documents, for --schema: a line each on descriptor 4, an answer a line on 3. Those are not the ones
 * that the target has for stdin and stdout. Runs inside a cell, beside java_harness.java.
 *
 *	serve_of_hotcell check   says what no document can be made into, and exits with 1
 *	serve_of_hotcell
 *
 * An object whose keys are names of parameters is spread over them, anything else is the only argument. What is said of a
 * document that does not fit holds nothing of the target's: it could be taken for an exception. */
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

final class serve_of_hotcell {
	private static final int ANSWERS = 3, DOCUMENTS = 4, ANSWER_MAX = 3500, DEPTH_MAX = 2000, TYPES_MAX = 8;
	private static final int DIGITS_MAX = 10000; /* of a number: 1e999999999 is a short text */

	/* A document that is none, or not of the type. */
	private static final class Misfit extends Exception {
		Misfit(String why) {
			super(why, null, false, false);
		}
	}

	/* ---- reading ---- */

	/* Into null, Boolean, BigDecimal, String, List and Map. */
	private static final class Json {
		private final String text;
		private int at, depth;

		Json(String text) {
			this.text = text;
		}

		static Object read(String text) throws Misfit {
			Json json = new Json(text);
			Object value = json.value();
			if (json.next() != 0)
				throw new Misfit("it is no JSON");
			return value;
		}

		private char next() { /* behind blanks; 0: the end */
			while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0)
				at++;
			return at < text.length() ? text.charAt(at) : 0;
		}

		private boolean takes(char c) {
			boolean is = next() == c;
			at += is ? 1 : 0;
			return is;
		}

		private void needs(char c) throws Misfit {
			if (!takes(c))
				throw new Misfit("it is no JSON");
		}

		private Object word(String word, Object value) throws Misfit {
			if (!text.startsWith(word, at))
				throw new Misfit("it is no JSON");
			at += word.length();
			return value;
		}

		Object value() throws Misfit {
			if (++depth > DEPTH_MAX)
				throw new Misfit("it nests too deep");
			Object value;
			switch (next()) {
			case '{': value = object(); break;
			case '[': value = list(); break;
			case '"': value = string(); break;
			case 't': value = word("true", true); break;
			case 'f': value = word("false", false); break;
			case 'n': value = word("null", null); break;
			default: value = number();
			}
			depth--;
			return value;
		}

		private Map<String, Object> object() throws Misfit {
			Map<String, Object> all = new LinkedHashMap<>();
			needs('{');
			if (takes('}'))
				return all;
			do {
				next();
				String key = string();
				needs(':');
				all.put(key, value());
			} while (takes(','));
			needs('}');
			return all;
		}

		private List<Object> list() throws Misfit {
			List<Object> all = new ArrayList<>();
			needs('[');
			if (takes(']'))
				return all;
			do
				all.add(value());
			while (takes(','));
			needs(']');
			return all;
		}

		private String string() throws Misfit {
			StringBuilder out = new StringBuilder();
			needs('"');
			while (at < text.length() && text.charAt(at) != '"') {
				char c = text.charAt(at++);
				out.append(c == '\\' ? escaped() : c);
			}
			needs('"');
			return out.toString();
		}

		private char escaped() throws Misfit {
			char c = at < text.length() ? text.charAt(at++) : 0;
			int plain = "\"\\/bfnrt".indexOf(c);
			if (plain >= 0)
				return "\"\\/\b\f\n\r\t".charAt(plain);
			try {
				if (c == 'u' && at + 4 <= text.length())
					return (char) Integer.parseInt(text.substring(at, at += 4), 16);
			} catch (NumberFormatException error) {
				/* as below */
			}
			throw new Misfit("it is no JSON");
		}

		private BigDecimal number() throws Misfit {
			int from = at;
			while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0)
				at++;
			try {
				return new BigDecimal(text.substring(from, at));
			} catch (NumberFormatException error) {
				throw new Misfit("it has a number that Java has not");
			}
		}
	}

	/* ---- types ---- */

	private static final Map<Class<?>, Class<?>> BOXES = Map.of(boolean.class, Boolean.class, byte.class, Byte.class, short.class,
		Short.class, char.class, Character.class, int.class, Integer.class, long.class, Long.class, float.class, Float.class,
		double.class, Double.class);
	private static final Set<Class<?>> PLAIN = Set.of(Object.class, String.class, CharSequence.class, Number.class, BigInteger.class,
		BigDecimal.class);

	private static Class<?> classOf(Type type) {
		if (type instanceof Class)
			return (Class<?>) type;
		if (type instanceof ParameterizedType)
			return (Class<?>) ((ParameterizedType) type).getRawType();
		if (type instanceof GenericArrayType)
			return Array.newInstance(classOf(itemOf(type, 0)), 0).getClass();
		Type[] bounds = type instanceof WildcardType ? ((WildcardType) type).getUpperBounds() : ((TypeVariable<?>) type).getBounds();
		return classOf(bounds[0]);
	}

	/* Of a List, a Map, an Optional or an array, the type of what is in it. */
	private static Type itemOf(Type type, int place) {
		if (type instanceof GenericArrayType)
			return ((GenericArrayType) type).getGenericComponentType();
		if (type instanceof ParameterizedType)
			return ((ParameterizedType) type).getActualTypeArguments()[place];
		Class<?> raw = classOf(type);
		return raw.isArray() ? raw.getComponentType() : Object.class;
	}

	/* Records are told by their base's name: compilers before them do not know more. */
	private static boolean isRecord(Class<?> type) {
		return type.getSuperclass() != null && type.getSuperclass().getName().equals("java.lang.Record");
	}

	private static List<Field> partsOf(Class<?> record) {
		List<Field> all = new ArrayList<>();
		for (Field each : record.getDeclaredFields())
			if (!Modifier.isStatic(each.getModifiers()))
				all.add(each);
		return all;
	}

	private static boolean isMany(Class<?> type) {
		return type == List.class || type == Collection.class || type == Iterable.class || type == ArrayList.class || type == Set.class;
	}

	private static boolean isMap(Class<?> type) {
		return type == Map.class || type == LinkedHashMap.class || type == java.util.HashMap.class || type == TreeMap.class;
	}

	private static boolean isMade(Type type) {
		return isMade(type, 0);
	}

	private static boolean isMade(Type type, int depth) {
		Class<?> raw = classOf(type);
		if (depth > TYPES_MAX || PLAIN.contains(raw) || raw.isEnum() || BOXES.containsKey(raw) || BOXES.containsValue(raw))
			return true;
		if (isMany(raw) || raw.isArray() || raw == Optional.class)
			return isMade(itemOf(type, 0), depth + 1);
		if (isMap(raw))
			return Set.of(String.class, Object.class).contains(classOf(itemOf(type, 0))) && isMade(mapped(type), depth + 1);
		if (!isRecord(raw))
			return false;
		for (Field each : partsOf(raw))
			if (!isMade(each.getGenericType(), depth + 1))
				return false;
		return true;
	}

	private static Type mapped(Type type) {
		return itemOf(type, 1);
	}

	/* ---- values ---- */

	private static Object numberOf(Class<?> type, BigDecimal it) throws Misfit {
		try {
			if (type == Byte.class)
				return it.byteValueExact();
			if (type == Short.class)
				return it.shortValueExact();
			if (type == Integer.class)
				return it.intValueExact();
			if (type == Long.class)
				return it.longValueExact();
		} catch (ArithmeticException error) {
			throw new Misfit("the number is none of its type");
		}
		boolean isWhole = it.signum() == 0 || it.scale() <= 0;
		if (type == BigDecimal.class)
			return it;
		if (type == Double.class || type == Float.class || (type != BigInteger.class && !isWhole))
			return type == Float.class ? (Object) it.floatValue() : (Object) it.doubleValue();
		if (!isWhole && it.stripTrailingZeros().scale() > 0 || it.precision() - it.scale() > DIGITS_MAX)
			throw new Misfit("the number is none of its type");
		BigInteger whole = it.toBigInteger();
		return type != BigInteger.class && whole.bitLength() < 64 ? (Object) whole.longValue() : (Object) whole;
	}

	/* As a parser of JSON would give it. */
	private static Object anything(Object value) throws Misfit {
		if (value instanceof List) {
			List<Object> all = new ArrayList<>();
			for (Object each : (List<?>) value)
				all.add(anything(each));
			return all;
		}
		if (value instanceof Map) {
			Map<Object, Object> all = new LinkedHashMap<>();
			for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet())
				all.put(each.getKey(), anything(each.getValue()));
			return all;
		}
		return value instanceof BigDecimal ? numberOf(Number.class, (BigDecimal) value) : value;
	}

	private static Object arrayOf(Type type, List<?> value) throws Misfit, InvocationTargetException {
		Object all = Array.newInstance(classOf(itemOf(type, 0)), value.size());
		for (int i = 0; i < value.size(); i++)
			Array.set(all, i, made(itemOf(type, 0), value.get(i)));
		return all;
	}

	private static Object manyOf(Type type, List<?> value) throws Misfit, InvocationTargetException {
		Collection<Object> all = classOf(type) == Set.class ? new LinkedHashSet<>() : new ArrayList<>();
		for (Object each : value)
			all.add(made(itemOf(type, 0), each));
		return all;
	}

	private static Object mapOf(Type type, Map<?, ?> value) throws Misfit, InvocationTargetException {
		Map<Object, Object> all = classOf(type) == TreeMap.class ? new TreeMap<>() : new LinkedHashMap<>();
		for (Map.Entry<?, ?> each : value.entrySet())
			all.put(each.getKey(), made(mapped(type), each.getValue()));
		return all;
	}

	/* Its constructor is the target's: what that throws is the target's, too. */
	private static Object recordOf(Class<?> type, Map<?, ?> value) throws Misfit, InvocationTargetException {
		List<Field> parts = partsOf(type);
		Class<?>[] types = new Class<?>[parts.size()];
		Object[] all = new Object[parts.size()];
		for (int i = 0; i < all.length; i++) {
			Field each = parts.get(i);
			types[i] = each.getType();
			all[i] = value.containsKey(each.getName()) ? made(each.getGenericType(), value.get(each.getName())) : nothing(types[i]);
		}
		try {
			Constructor<?> constructor = type.getDeclaredConstructor(types);
			constructor.setAccessible(true);
			return constructor.newInstance(all);
		} catch (NoSuchMethodException | InstantiationException | IllegalAccessException error) {
			throw new Misfit("its record cannot be made");
		}
	}

	/* What a value is that no document gives. */
	private static Object nothing(Class<?> type) {
		return type == Optional.class ? Optional.empty() : type.isPrimitive() ? Array.get(Array.newInstance(type, 1), 0) : null;
	}

	private static Object textOf(Class<?> type, String text) throws Misfit {
		if (type == byte[].class)
			return text.getBytes(StandardCharsets.UTF_8);
		if (type == char[].class)
			return text.toCharArray();
		if (type == Character.class && text.length() == 1)
			return text.charAt(0);
		if (type.isAssignableFrom(String.class))
			return text;
		for (Object each : type.isEnum() ? type.getEnumConstants() : new Object[0])
			if (((Enum<?>) each).name().equals(text))
				return each;
		throw new Misfit("the text is none of its type");
	}

	private static Object made(Type type, Object value) throws Misfit, InvocationTargetException {
		Class<?> raw = classOf(type), box = BOXES.getOrDefault(raw, raw);
		if (raw == Object.class)
			return anything(value);
		if (raw == Optional.class)
			return value == null ? Optional.empty() : Optional.ofNullable(made(itemOf(type, 0), value));
		if (value == null && !raw.isPrimitive())
			return null;
		if (value instanceof String)
			return textOf(box, (String) value);
		if (value instanceof Boolean && box == Boolean.class)
			return value;
		if (value instanceof BigDecimal && Number.class.isAssignableFrom(box))
			return numberOf(box, (BigDecimal) value);
		if (value instanceof List && raw.isArray())
			return arrayOf(type, (List<?>) value);
		if (value instanceof List && isMany(raw))
			return manyOf(type, (List<?>) value);
		if (value instanceof Map && isMap(raw))
			return mapOf(type, (Map<?, ?>) value);
		if (value instanceof Map && isRecord(raw))
			return recordOf(raw, (Map<?, ?>) value);
		throw new Misfit("the value is none of its type");
	}

	/* Whether its keys are all names of parameters. */
	private static boolean isSpread(Object value, Parameter[] parameters) {
		if (!(value instanceof Map) || (((Map<?, ?>) value).isEmpty() && parameters.length == 1))
			return false;
		for (Object key : ((Map<?, ?>) value).keySet())
			if (Arrays.stream(parameters).noneMatch(each -> each.getName().equals(key)))
				return false;
		return true;
	}

	private static Object[] arguments(Method method, String document) throws Misfit, InvocationTargetException {
		Parameter[] parameters = method.getParameters();
		Object value = Json.read(document);
		Object[] all = new Object[parameters.length];
		boolean spread = isSpread(value, parameters);
		if (!spread && all.length != 1)
			throw new Misfit("it is no object with the names of its parameters");
		for (int i = 0; i < all.length; i++) {
			Class<?> type = parameters[i].getType();
			String name = parameters[i].getName();
			if (!spread && !(value instanceof String) && (type == String.class || type == byte[].class))
				all[i] = textOf(type, document);
			else if (!spread || ((Map<?, ?>) value).containsKey(name))
				all[i] = made(parameters[i].getParameterizedType(), spread ? ((Map<?, ?>) value).get(name) : value);
			else
				all[i] = nothing(type);
		}
		return all;
	}

	/* ---- answers ---- */

	private static void put(StringBuilder out, String text) {
		out.append('"');
		for (char c : text.toCharArray())
			if (c < ' ' || c > '~' || c == '"' || c == '\\')
				out.append(String.format("\\u%04x", (int) c));
			else
				out.append(c);
		out.append('"');
	}

	/* What it returned, of what JSON has and Java's own classes are; false: it is something else, or too long. */
	private static boolean put(StringBuilder out, Object value, int depth) {
		if (out.length() > ANSWER_MAX || depth > TYPES_MAX)
			return false;
		if (value instanceof Collection && value.getClass().getName().startsWith("java."))
			value = ((Collection<?>) value).toArray();
		if (value == null || value instanceof Boolean || value instanceof Byte || value instanceof Short || value instanceof Integer ||
			value instanceof Long) {
			out.append(value);
		} else if (value instanceof Double || value instanceof Float) {
			double number = ((Number) value).doubleValue();
			out.append(Double.isNaN(number) || Double.isInfinite(number) ? "\"" + number + "\"" : Double.toString(number));
		} else if (value instanceof String && ((String) value).length() <= ANSWER_MAX) {
			put(out, (String) value);
		} else if (value.getClass().isArray()) {
			out.append('[');
			for (int i = 0; i < Array.getLength(value); i++) {
				out.append(i > 0 ? "," : "");
				if (!put(out, Array.get(value, i), depth + 1))
					return false;
			}
			out.append(']');
		} else {
			return false;
		}
		return out.length() <= ANSWER_MAX;
	}

	private static String result(Object value) {
		StringBuilder out = new StringBuilder("{\"result\":");
		boolean told = false;
		try {
			told = put(out, value, 0);
		} catch (Throwable error) { /* of a collection that is no plain one */
			told = false;
		}
		if (!told) {
			out.setLength("{\"result\":".length());
			put(out, value.getClass().getName());
		}
		return out.append('}').toString();
	}

	private static String rejected(String why) {
		StringBuilder out = new StringBuilder("{\"rejected\":");
		put(out, why);
		return out.append('}').toString();
	}

	/* Of a stack that is full, what is in it again and again: the rest of it is chance. */
	private static void onlyCycle(StackOverflowError error) {
		Map<String, List<StackTraceElement>> all = new TreeMap<>();
		for (StackTraceElement each : error.getStackTrace())
			all.computeIfAbsent(each.getClassName() + "." + each.getMethodName(), key -> new ArrayList<>()).add(each);
		all.values().removeIf(each -> each.size() <= 2);
		if (!all.isEmpty())
			error.setStackTrace(all.values().stream().map(each -> each.get(0)).toArray(StackTraceElement[]::new));
	}

	private static String failed(Throwable error) {
		StringBuilder trace = new StringBuilder(), out = new StringBuilder("{\"exception\":");
		if (error instanceof StackOverflowError)
			onlyCycle((StackOverflowError) error);
		for (String line : harness_of_hotcell.traceOf(error).split("\n"))
			if (!line.startsWith("\tat harness_of_hotcell") && !line.startsWith("\tat serve_of_hotcell") &&
				trace.length() + line.length() < ANSWER_MAX)
				trace.append(line).append('\n');
		String text = trace.length() > 0 ? trace.toString() : error.getClass().getName();
		put(out, text.split("\n")[0]);
		put(out.append(",\"traceback\":"), text);
		return out.append('}').toString();
	}

	private static String answer(Method method, String document) throws IllegalAccessException {
		Object[] all;
		try {
			try {
				all = arguments(method, document);
			} catch (Misfit error) {
				return rejected(error.getMessage());
			} catch (StackOverflowError error) { /* ours; a record's comes as the other one */
				return rejected("it nests too deep");
			}
			return result(method.invoke(null, all));
		} catch (InvocationTargetException error) {
			return harness_of_hotcell.isExpected(error.getCause()) ? rejected("by an exception, which is declared")
				: failed(error.getCause());
		}
	}

	/* Opened by its number: the file that stands for it in /proc may be another user's. */
	private static FileDescriptor descriptor(int number) throws ReflectiveOperationException {
		FileDescriptor made = new FileDescriptor();
		Field field = FileDescriptor.class.getDeclaredField("fd");
		field.setAccessible(true);
		field.setInt(made, number);
		return made;
	}

	public static void main(String[] words) throws Exception {
		Method method = null;
		try {
			method = harness_of_hotcell.find("a document", serve_of_hotcell::isMade);
		} catch (harness_of_hotcell.Refused | LinkageError error) {
			harness_of_hotcell.end(1, error instanceof LinkageError ? "its class cannot be loaded: " + error : error.getMessage());
		}
		if (words.length > 0)
			harness_of_hotcell.end(0, null);
		OutputStream out = new FileOutputStream(descriptor(ANSWERS));
		BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream(descriptor(DOCUMENTS)), StandardCharsets.UTF_8));
		for (String line; (line = in.readLine()) != null;)
			out.write((answer(method, line) + "\n").getBytes(StandardCharsets.UTF_8));
		harness_of_hotcell.end(0, null);
	}
}
