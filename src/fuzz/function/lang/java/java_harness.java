/* Calls one method with values made from bytes, for Jazzer. Runs inside a cell.
 *
 *	Jazzer --target_class=harness_of_hotcell FLAG...   as an engine: libFuzzer's flags and folders
 *	harness_of_hotcell check                           says what cannot be made, and exits with 1
 *	harness_of_hotcell minimise FILE OUT SECONDS
 *
 * The method is the target's, or the one of a harness that is there. With -Dhotcell.goes_on it goes on after an exception:
 * each new one, told apart by its type and the innermost frames of the target's code, is left in crashes/ as NAME.txt (the
 * trace), then NAME.input. What Jazzer itself takes for wrong (a command with the input in it, a path out of a folder) is
 * left to Jazzer; so is, with -Dhotcell.plain, which is when Jazzer does not watch, an exception of what it would watch.
 * What the target does to this process is judged outside: an input counts when it does the same in a fresh cell. */
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.Reader;
import java.io.StringWriter;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.function.Predicate;

public class harness_of_hotcell {
	private static final Path WORK = Path.of("/fuzz");
	private static final String ISSUE = "com.code_intelligence.jazzer.api.FuzzerSecurityIssue";
	private static final String[] OTHERS = {"java.", "javax.", "jdk.", "sun.", "com.sun.", "com.code_intelligence.jazzer.",
		"harness_of_hotcell"};
	private static final String[] WATCHED = {"java.lang.Process", "java.lang.Class", "java.lang.reflect.", "java.util.regex.",
		"java.io.", "java.nio.file.", "java.net.", "java.sql.", "java.beans.", "javax."};
	private static final int TEXT_MAX = 65536, CRASHES_MAX = 1000, KEY_FRAMES = 3, ITEMS_MAX = 4096;
	private static final Properties CONFIG = config();
	private static final boolean GOES_ON = System.getProperty("hotcell.goes_on") != null;
	private static final boolean PLAIN = System.getProperty("hotcell.plain") != null;
	private static final Set<String> seen = new HashSet<>();
	private static Method method; /* the target's */
	private static Method maker; /* Jazzer's, of what makes values of bytes */

	private static Properties config() {
		Properties all = new Properties();
		try (Reader reader = Files.newBufferedReader(WORK.resolve("target.properties"))) {
			all.load(reader);
		} catch (IOException error) {
			throw new IllegalStateException(error);
		}
		return all;
	}

	/* ---- values ---- */

	private static final List<Class<?>> NUMBERS = List.of(boolean.class, byte.class, short.class, char.class, int.class, long.class,
		float.class, double.class);

	private static boolean isMade(Type any) {
		Class<?> type = any instanceof Class ? (Class<?>) any : Object.class;
		Class<?> item = type.isArray() ? type.getComponentType() : type;
		return item == String.class || NUMBERS.contains(item);
	}

	private static boolean isPart(Class<?> type) {
		return type.isArray() || type == String.class;
	}

	/* Numbers are taken from the end, texts and arrays from the beginning; the last of those has all that is left. */
	private static final class Data {
		private final byte[] bytes;
		private int at, end;

		Data(byte[] bytes) {
			this.bytes = bytes;
			this.end = bytes.length;
		}

		Object number(Class<?> type) {
			ByteBuffer eight = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
			int size = sizeOf(type), taken = Math.min(size, end - at);
			end -= taken;
			eight.put(0, bytes, end, taken);
			return numberOf(type, eight, 0);
		}

		byte[] part(boolean last) {
			int size = last ? end - at : Math.min((byte) number(byte.class) & 255, end - at);
			at += size;
			return Arrays.copyOfRange(bytes, at - size, at);
		}
	}

	private static int sizeOf(Class<?> type) {
		return type == long.class || type == double.class ? 8
			: type == int.class || type == float.class ? 4
			: type == short.class || type == char.class ? 2 : 1;
	}

	private static Object numberOf(Class<?> type, ByteBuffer from, int at) {
		if (type == boolean.class)
			return (from.get(at) & 1) != 0;
		if (type == byte.class)
			return from.get(at);
		if (type == short.class)
			return from.getShort(at);
		if (type == char.class)
			return from.getChar(at);
		if (type == int.class)
			return from.getInt(at);
		if (type == long.class)
			return from.getLong(at);
		return type == float.class ? (Object) from.getFloat(at) : (Object) from.getDouble(at);
	}

	private static String text(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

	private static Object partOf(Class<?> type, byte[] bytes) {
		if (type == byte[].class)
			return bytes;
		if (type == String.class)
			return text(bytes);
		if (type == String[].class)
			return bytes.length == 0 ? new String[0] : text(bytes).split("\0", ITEMS_MAX);
		Class<?> item = type.getComponentType();
		int size = sizeOf(item), count = bytes.length / size;
		ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
		Object all = Array.newInstance(item, count);
		for (int i = 0; i < count; i++)
			Array.set(all, i, numberOf(item, from, i * size));
		return all;
	}

	private static Object[] arguments(Class<?>[] types, byte[] raw) {
		Data data = new Data(raw);
		Object[] all = new Object[types.length];
		int last = -1;
		for (int i = 0; i < types.length; i++)
			if (isPart(types[i]))
				last = i;
			else
				all[i] = data.number(types[i]);
		for (int i = 0; i < types.length; i++)
			if (isPart(types[i]))
				all[i] = partOf(types[i], data.part(i == last));
		return all;
	}

	/* ---- the method ---- */

	static final class Refused extends Exception {
		Refused(String why) {
			super(why);
		}
	}

	private static Class<?> load() throws Refused {
		String name = CONFIG.getProperty("class");
		try {
			return Class.forName(name, false, harness_of_hotcell.class.getClassLoader());
		} catch (ClassNotFoundException error) {
			throw new Refused("the file has no class '" + name + "', as it is called itself");
		}
	}

	/* Of several with the name, the first that can be called with what is made from `from`. */
	static Method find(String from, Predicate<Type> isMade) throws Refused {
		String name = CONFIG.getProperty("function"), why = null;
		for (Method each : load().getDeclaredMethods()) {
			if (!each.getName().equals(name) || !Modifier.isStatic(each.getModifiers()) || each.isSynthetic())
				continue;
			String wrong = refusal(each, from, isMade);
			if (wrong == null) {
				each.setAccessible(true);
				return each;
			}
			why = wrong;
		}
		throw new Refused(name + (why == null ? " is no static method of the class" : why));
	}

	private static String refusal(Method each, String from, Predicate<Type> isMade) {
		Parameter[] all = each.getParameters();
		if (all.length == 0)
			return " takes nothing, so there is nothing to fuzz";
		for (int i = 0; i < all.length; i++)
			if (!isMade.test(all[i].getParameterizedType()))
				return ": its parameter " + (i + 1) + ", '" + all[i].getParameterizedType().getTypeName() + " " +
					all[i].getName() + "', cannot be made from " + from;
		return null;
	}

	/* A harness that is there has a method of its own: bytes, or what makes values of them. */
	private static Method harness() throws Refused {
		for (Method each : load().getDeclaredMethods()) {
			Class<?>[] types = each.getParameterTypes();
			if (each.getName().equals("fuzzerTestOneInput") && Modifier.isStatic(each.getModifiers()) && types.length == 1 &&
				(types[0] == byte[].class || types[0].getName().endsWith(".FuzzedDataProvider"))) {
				each.setAccessible(true);
				return each;
			}
		}
		throw new Refused("the class has no public static method fuzzerTestOneInput(byte[]) or (FuzzedDataProvider)");
	}

	/* A harness may want to be told first. */
	private static void begin(Class<?> type) throws Exception {
		for (Method each : type.getDeclaredMethods())
			if (each.getName().equals("fuzzerInitialize") && Modifier.isStatic(each.getModifiers())) {
				each.setAccessible(true);
				each.invoke(null, each.getParameterCount() == 0 ? new Object[0] : new Object[] {new String[0]});
			}
	}

	private static boolean isHarness() {
		return CONFIG.getProperty("harness") != null;
	}

	private static Method methodOf() throws Refused {
		return isHarness() ? harness() : find("bytes; write a harness with fuzzerTestOneInput", harness_of_hotcell::isMade);
	}

	/* By its name: with --schema, this is compiled where Jazzer may not be. */
	private static AutoCloseable provider(byte[] raw) throws ReflectiveOperationException {
		if (maker == null)
			maker = Class.forName("com.code_intelligence.jazzer.driver.FuzzedDataProviderImpl").getMethod("withJavaData", byte[].class);
		return (AutoCloseable) maker.invoke(null, (Object) raw);
	}

	static boolean isExpected(Throwable error) {
		List<String> names = Arrays.asList(CONFIG.getProperty("expect", "").split(","));
		for (Class<?> type = error.getClass(); type != Object.class; type = type.getSuperclass())
			if (names.contains(type.getSimpleName()) || names.contains(type.getName()))
				return true;
		return false;
	}

	/* Null, or the error that nobody expected. */
	private static Throwable call(byte[] raw) {
		try {
			if (method == null) {
				method = methodOf();
				if (isHarness())
					begin(method.getDeclaringClass());
			}
			Class<?>[] types = method.getParameterTypes();
			if (!isHarness())
				method.invoke(null, arguments(types, raw));
			else if (types[0] == byte[].class)
				method.invoke(null, (Object) raw);
			else
				try (AutoCloseable data = provider(raw)) {
					method.invoke(null, data);
				}
		} catch (InvocationTargetException error) {
			return isExpected(error.getCause()) ? null : error.getCause();
		} catch (Exception error) {
			throw new IllegalStateException(error);
		}
		return null;
	}

	/* ---- what happened ---- */

	private static Throwable rootOf(Throwable error) {
		for (int i = 0; i < 32 && error.getCause() != null; i++)
			error = error.getCause();
		return error;
	}

	private static boolean begins(String name, String[] list) {
		for (String each : list)
			if (name.startsWith(each))
				return true;
		return false;
	}

	private static boolean isOther(StackTraceElement frame) {
		return begins(frame.getClassName() + ".", OTHERS);
	}

	/* Whether it came from what Jazzer watches, called by the target. */
	private static boolean isWatched(Throwable error) {
		for (StackTraceElement each : rootOf(error).getStackTrace()) {
			if (!isOther(each))
				break;
			if (begins(each.getClassName(), WATCHED))
				return true;
		}
		return false;
	}

	private static String keyOf(Throwable error) {
		StringBuilder key = new StringBuilder(error.getClass().getName());
		int frames = 0;
		for (StackTraceElement each : rootOf(error).getStackTrace())
			if (frames < KEY_FRAMES && !isOther(each)) {
				key.append('\n').append(each.getClassName()).append('.').append(each.getMethodName());
				frames++;
			}
		return key.toString();
	}

	static String traceOf(Throwable error) {
		StringWriter text = new StringWriter();
		try {
			error.printStackTrace(new PrintWriter(text, true));
		} catch (Throwable worse) { /* its getMessage throws */
			text.write(error.getClass().getName() + "\n");
		}
		return text.toString();
	}

	/* As Jazzer tells it. */
	private static byte[] told(Throwable error) {
		byte[] whole = ("\n== Java Exception: " + traceOf(error)).getBytes(StandardCharsets.UTF_8);
		return whole.length <= TEXT_MAX ? whole : Arrays.copyOf(whole, TEXT_MAX);
	}

	/* Whole or not at all; whoever was first keeps the name. */
	private static void leave(String name, byte[] data) throws IOException {
		Path folder = WORK.resolve("crashes"), part = folder.resolve(name + "." + ProcessHandle.current().pid() + ".part");
		Files.write(part, data);
		try {
			Files.createLink(folder.resolve(name), part);
		} catch (IOException | UnsupportedOperationException error) {
			/* it is there */
		}
		Files.delete(part);
	}

	public static void fuzzerInitialize() {
		System.setOut(new PrintStream(OutputStream.nullOutputStream())); /* what the target prints is for nobody */
	}

	public static void fuzzerTestOneInput(byte[] raw) throws Throwable {
		Throwable error = call(raw.clone());
		if (error == null || (PLAIN && isWatched(error)))
			return;
		if (!GOES_ON || error.getClass().getName().startsWith(ISSUE))
			throw error;
		String key = keyOf(error);
		if (seen.size() >= CRASHES_MAX || !seen.add(key))
			return;
		String name = String.format("%08x%08x", key.hashCode(), (key + "\n").repeat(2).hashCode());
		leave(name + ".txt", told(error));
		leave(name + ".input", raw);
	}

	/* ---- smaller ---- */

	private static final class Smaller {
		private final Path out;
		private final String key;
		private final long end;
		private byte[] best;

		Smaller(byte[] input, Path out, double seconds) {
			this.best = input;
			this.out = out;
			this.end = System.nanoTime() + (long) (seconds * 1e9);
			Throwable error = call(input.clone());
			this.key = error == null ? null : keyOf(error);
		}

		private boolean isLate() {
			return System.nanoTime() >= end;
		}

		private boolean take(byte[] raw) throws IOException {
			Throwable error = call(raw.clone());
			if (error == null || !keyOf(error).equals(key))
				return false;
			best = raw;
			Path part = Path.of(out + ".part");
			Files.write(part, best);
			Files.move(part, out, StandardCopyOption.REPLACE_EXISTING);
			return true;
		}

		private static byte[] without(byte[] all, int at, int size) {
			byte[] less = Arrays.copyOf(all, Math.max(all.length - size, at));
			if (at + size < all.length)
				System.arraycopy(all, at + size, less, at, all.length - at - size);
			return less;
		}

		/* Parts are taken away, then bytes made plain, as long as the same error comes. */
		void run() throws IOException {
			for (int size = Math.max(best.length / 2, 1); size > 0 && best.length > 0 && !isLate();) {
				boolean shorter = false;
				for (int at = 0; at < best.length && !isLate();)
					if (take(without(best, at, size)))
						shorter = true;
					else
						at += size;
				size = size > 1 ? size / 2 : shorter ? 1 : 0;
			}
			for (int at = 0; at < best.length; at++)
				for (byte plain : new byte[] {'0', 'a', ' ', 'A'}) {
					byte[] other = best.clone();
					other[at] = plain;
					if (best[at] == plain || isLate() || take(other))
						break;
				}
		}
	}

	static void end(int code, String why) {
		if (why != null)
			System.err.println(why);
		System.err.flush();
		Runtime.getRuntime().halt(code); /* the target's threads and its hooks have no say */
	}

	public static void main(String[] words) throws Exception {
		fuzzerInitialize();
		if (words[0].equals("check")) {
			try {
				method = methodOf();
			} catch (Refused | LinkageError error) {
				end(1, error instanceof Refused ? error.getMessage() : "its class cannot be loaded: " + error);
			}
			end(0, null);
		}
		Smaller smaller = new Smaller(Files.readAllBytes(Path.of(words[1])), Path.of(words[2]), Double.parseDouble(words[3]));
		if (smaller.key == null)
			end(1, null);
		smaller.run();
		end(0, null);
	}
}
