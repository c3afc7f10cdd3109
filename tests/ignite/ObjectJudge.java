import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;
import org.apache.ignite.configuration.BinaryConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.binary.BinaryContext;
import org.apache.ignite.internal.binary.BinaryEnumObjectImpl;
import org.apache.ignite.internal.binary.BinaryMetadata;
import org.apache.ignite.internal.binary.BinaryObjectImpl;
import org.apache.ignite.internal.binary.BinaryReaderExImpl;
import org.apache.ignite.internal.binary.BinaryTypeImpl;
import org.apache.ignite.internal.binary.BinaryWriterExImpl;
import org.apache.ignite.internal.binary.GridBinaryMarshaller;
import org.apache.ignite.internal.binary.streams.BinaryHeapInputStream;
import org.apache.ignite.internal.processors.cache.binary.CacheObjectBinaryProcessorImpl;
import org.apache.ignite.internal.processors.platform.utils.PlatformUtils;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * Judges headrace/net/ignite's encoding of objects by Java's marshaller.
 *
 * ObjectJudge PORT FOLDER write FILE SEED COUNT [full]: writes COUNT random values, and one of each type
 *     before, as Java encodes them. `full`: with full footers instead of compact ones. The node has PORT and
 *     its files in FOLDER.
 * ObjectJudge PORT FOLDER read IN OUT [full]: reads what headrace encoded, and writes how Java understands it; fails if Java
 *     would compute another hash code or other bytes.
 *
 * Lines of a file: "T base64", a type as GET_BINARY_TYPE answers it; "V base64 json", an object and what it
 * says (docs/formats/ignite-objects.md has the JSON form); "W base64 json", one with wrapped objects inside.
 */
public class ObjectJudge {
    enum Color { RED, GREEN, BLUE }

    static class Point {
        int x;
        double y;
        String label;
        Color color;
        Point(int x, double y, String label, Color color) { this.x = x; this.y = y; this.label = label; this.color = color; }
    }

    static class Everything {
        boolean flag = true;
        byte small = -3;
        short wide = -300;
        int number = 70_000;
        long large = 1L << 40;
        float real = 1.5f;
        double precise = -0.1;
        char letter = 'é';
        String text = "Grüße";
        Object nothing = null;
        byte[] bytes = {1, 2, 3};
        Date date = new Date(1_700_000_000_123L);
        Timestamp timestamp;
        UUID uuid = new UUID(1, -2);
        BigDecimal price = new BigDecimal("-12.340");
        Point point = new Point(1, 2.5, null, Color.BLUE);
        List<Object> list = new ArrayList<>(Arrays.asList(1, "two", 3.0));
        Map<Object, Object> map = new HashMap<>(Map.of("a", 1));
        Color[] colors = {Color.GREEN, null};
        Everything() {
            timestamp = new Timestamp(1_700_000_000_123L);
            timestamp.setNanos(123_456_789);
        }
    }

    static class Empty { }

    static class Large {
        byte[] first;
        int second = 2;
        Large(int size) { first = new byte[size]; }
    }

    static class Link {
        Object next;
        int value;
        Link(int value, Object next) { this.value = value; this.next = next; }
    }

    /** Writes raw data, with a field before or without. */
    static class Raw implements Binarylizable {
        boolean named;
        Raw(boolean named) { this.named = named; }
        @Override public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
            if (named) writer.writeInt("named", 5);
            writer.rawWriter().writeInt(7);
        }
        @Override public void readBinary(BinaryReader reader) throws BinaryObjectException { }
    }

    /** An object that was made with a builder, and what it was made from. */
    static class Built {
        final BinaryObject object;
        final Map<String, Object> fields;
        Built(BinaryObject object, Map<String, Object> fields) { this.object = object; this.fields = fields; }
    }

    final Ignite ignite;
    final BinaryContext context;
    final GridBinaryMarshaller marshaller;

    ObjectJudge(int port, String folder, boolean compact) {
        IgniteConfiguration configuration = new IgniteConfiguration();
        configuration.setLocalHost("127.0.0.1");
        configuration.setConnectorConfiguration(null);
        configuration.setClientConnectorConfiguration(null);
        configuration.setBinaryConfiguration(new BinaryConfiguration().setCompactFooter(compact));
        TcpDiscoverySpi discovery = new TcpDiscoverySpi();
        discovery.setLocalPort(port);
        discovery.setLocalPortRange(0);
        discovery.setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of("127.0.0.1:" + port)));
        configuration.setDiscoverySpi(discovery);
        configuration.setWorkDirectory(folder);
        ignite = Ignition.start(configuration);
        context = ((CacheObjectBinaryProcessorImpl) ((IgniteEx) ignite).context().cacheObjects()).binaryContext();
        marshaller = new GridBinaryMarshaller(context);
    }

    // --- how a value reads as JSON

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }

    static String number(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) return quoted(Double.toString(value));
        return Double.toString(value);
    }

    String encoded(byte[] bytes) { return Base64.getEncoder().encodeToString(bytes); }

    String type(Class<?> type) { return Integer.toString(context.typeId(type.getName())); }

    static String joined(List<String> parts, char open, char close) { return open + String.join(",", parts) + close; }

    String primitives(Object array) {
        if (array instanceof byte[]) return quoted(encoded((byte[]) array));
        if (array instanceof char[]) return quoted(new String((char[]) array));
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < java.lang.reflect.Array.getLength(array); ++i)
            parts.add(json(java.lang.reflect.Array.get(array, i), new ArrayDeque<>()));
        return joined(parts, '[', ']');
    }

    String json(Object value, Deque<Object> path) {
        if (value == null) return "null";
        if (value instanceof Class || value instanceof BigInteger) return "{\"java\":" + quoted(encoded(marshaller.marshal(value, false))) + "}";
        if (value instanceof Float || value instanceof Double) return number(((Number) value).doubleValue());
        if (value instanceof BigDecimal || value instanceof UUID || value instanceof Character || value instanceof String)
            return quoted(value.toString());
        if (value instanceof Number || value instanceof Boolean) return value.toString();
        if (value instanceof Timestamp) {
            Timestamp timestamp = (Timestamp) value;
            return "{\"milliseconds\":" + timestamp.getTime() + ",\"nanoseconds\":" + timestamp.getNanos() % 1_000_000 + "}";
        }
        if (value instanceof Date) return Long.toString(((Date) value).getTime());
        if (value instanceof Enum) return "{\"ordinal\":" + ((Enum<?>) value).ordinal() + ",\"type\":" + type(((Enum<?>) value).getDeclaringClass()) + "}";
        if (value instanceof BinaryEnumObjectImpl)
            return "{\"ordinal\":" + ((BinaryEnumObjectImpl) value).enumOrdinal() + ",\"type\":" + ((BinaryEnumObjectImpl) value).typeId() + "}";
        if (value.getClass().isArray() && value.getClass().getComponentType().isPrimitive()) return primitives(value);
        for (Object above : path) if (above == value) return "{\"cycle\":true}";
        path.push(value);
        String out = compound(value, path);
        path.pop();
        return out;
    }

    String compound(Object value, Deque<Object> path) {
        List<String> parts = new ArrayList<>();
        if (value instanceof Object[]) value = Arrays.asList((Object[]) value);
        if (value instanceof Collection) {
            for (Object element : (Collection<?>) value) parts.add(json(element, path));
            return joined(parts, '[', ']');
        }
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
                parts.add("[" + json(entry.getKey(), path) + "," + json(entry.getValue(), path) + "]");
            return joined(parts, '[', ']');
        }
        for (Map.Entry<String, Object> field : fields(value).entrySet())
            parts.add(quoted(field.getKey()) + ":" + json(field.getValue(), path));
        if (value instanceof Raw) parts.add("\"#raw\":\"BwAAAA==\"");
        return joined(parts, '{', '}');
    }

    Map<String, Object> fields(Object value) {
        if (value instanceof Built) return ((Built) value).fields;
        Map<String, Object> out = new TreeMap<>();
        if (value instanceof Raw) {
            if (((Raw) value).named) out.put("named", 5);
            return out;
        }
        if (value instanceof BinaryObject) {
            BinaryObject object = (BinaryObject) value;
            for (String name : object.type().fieldNames()) if (object.hasField(name)) out.put(name, object.field(name));
            return out;
        }
        try {
            for (Field field : value.getClass().getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) continue;
                field.setAccessible(true);
                out.put(field.getName(), field.get(value));
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return out;
    }

    // --- values

    static List<Object> samples() {
        Timestamp timestamp = new Timestamp(-1_000L);
        timestamp.setNanos(999_999_999);
        Link self = new Link(1, null);
        self.next = self;
        Point shared = new Point(3, 4, "shared", null);
        Color[] colors = {Color.RED};
        List<Object> sharedList = new ArrayList<>(List.of(1));
        return new ArrayList<>(Arrays.asList(null, true, (byte) 1, (short) 2, 3, 4L, 5f, 6d, 'c', "text", "",
            "\ud83d\ude00 smile", new UUID(-1, 1), new Date(0), new Time(1), timestamp, new BigDecimal("1.50"),
            new BigDecimal("-1E+30"), new BigDecimal("0.00"), new BigDecimal("1e-12"), new BigDecimal("-128"),
            new BigDecimal("98765432109876543210.123456789"), Color.GREEN, new byte[] {-1, 0}, new short[] {-1},
            new int[] {1, -2}, new long[] {Long.MIN_VALUE}, new float[] {Float.NaN, 0.1f},
            new double[] {Double.POSITIVE_INFINITY, 1e300}, new char[] {'a', 'ß'}, new boolean[] {true, false},
            new String[] {"a", null}, new UUID[] {new UUID(5, 6), null}, new Date[] {new Date(7), null},
            new Timestamp[] {timestamp, null}, new Time[] {new Time(8)}, new BigDecimal[] {BigDecimal.TEN, null},
            new Color[] {Color.BLUE, null}, new Object[] {1, "x", null}, new Point[] {shared, null, shared},
            new Integer[] {1, 2}, new ArrayList<>(List.of(1, "b")), new LinkedList<>(List.of(2L)),
            new HashSet<>(List.of("s")), new LinkedHashSet<>(List.of("t", "u")),
            new HashMap<>(Map.of("k", 1)), new LinkedHashMap<>(Map.of(1, "v")), new Everything(), new Empty(),
            new Large(10), new Large(300), new Large(70_000), new Link(1, new Link(2, null)), self,
            new Link(5, new ArrayList<>(Arrays.asList(shared, shared))), new Raw(true), new Raw(false), String.class,
            new Object[] {colors, colors}, new Object[] {sharedList, sharedList}, new BigInteger("123"),
            new Object[] {new Raw(true), new Empty(), shared}));
    }

    Object random(Random random, int depth) {
        List<Object> samples = samples();
        int choice = random.nextInt(depth > 4 ? 10 : 20);
        if (choice == 0) return random.nextInt();
        if (choice == 1) return random.nextLong();
        if (choice == 2) return random.nextDouble();
        if (choice == 3) return new BigDecimal(new BigInteger(random.nextInt(200), random), random.nextInt(30) - 10);
        if (choice < 10) return samples.get(random.nextInt(46));
        int count = random.nextInt(5);
        if (choice < 13) return new Link(random.nextInt(), random(random, depth + 1));
        if (choice < 17) return built(random, depth);
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < count; ++i) values.add(random(random, depth + 1));
        if (choice == 17) return values.toArray();
        if (choice == 18) return values;
        Map<Object, Object> map = new LinkedHashMap<>();
        for (Object value : values) map.put(random.nextInt(), value);
        return map;
    }

    /** An object of a type that is no class, with some of its fields, so that its type has many schemas. */
    Built built(Random random, int depth) {
        BinaryObjectBuilder builder = ignite.binary().builder("dynamic.Type" + random.nextInt(5));
        Map<String, Object> fields = new TreeMap<>();
        for (String name : List.of("number", "Text", "child", "many")) {
            if (random.nextInt(3) == 0) continue;
            Object value = name.equals("number") ? (Object) random.nextInt()
                : name.equals("Text") ? "text " + random.nextInt(100)
                : name.equals("child") ? new Point(random.nextInt(), random.nextDouble(), null, Color.RED)
                : new ArrayList<>(List.of(random.nextInt(), "many"));
            fields.put(name, value);
            builder.setField(name, value);
        }
        return new Built(builder.build(), fields);
    }

    /** Whether `unwrapped` met an object that was built. */
    boolean wraps = false;

    /** As the value is, with bare objects in arrays, collections and maps. */
    Object unwrapped(Object value) {
        if (value instanceof Built) {
            wraps = true;
            return ((Built) value).object;
        }
        if (value instanceof Link) return new Link(((Link) value).value, ((Link) value).next == value ? null : unwrapped(((Link) value).next));
        if (value instanceof Object[] && value.getClass() == Object[].class) {
            Object[] out = new Object[((Object[]) value).length];
            for (int i = 0; i < out.length; ++i) out[i] = unwrapped(((Object[]) value)[i]);
            return out;
        }
        if (value instanceof ArrayList) {
            List<Object> out = new ArrayList<>();
            for (Object element : (List<?>) value) out.add(unwrapped(element));
            return out;
        }
        if (value instanceof LinkedHashMap) {
            Map<Object, Object> out = new LinkedHashMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) out.put(entry.getKey(), unwrapped(entry.getValue()));
            return out;
        }
        return value;
    }

    // --- files

    void writeTypes(PrintWriter out) {
        for (org.apache.ignite.binary.BinaryType type : context.metadata()) {
            BinaryMetadata metadata = ((BinaryTypeImpl) type).metadata();
            try (BinaryWriterExImpl writer = new BinaryWriterExImpl(context)) {
                writer.writeBoolean(true);
                PlatformUtils.writeBinaryMetadata(writer, metadata, true);
                out.println("T " + encoded(writer.array()));
            }
        }
    }

    void write(String file, long seed, int count) throws Exception {
        List<String> lines = new ArrayList<>();
        for (Object value : samples()) lines.add("V " + encoded(marshaller.marshal(value, false)) + " " + json(value, new ArrayDeque<>()));
        Random random = new Random(seed);
        for (int i = 0; i < count; ++i) {
            Object value = random(random, 0);
            String json = json(value, new ArrayDeque<>());
            wraps = false;
            Object bare = unwrapped(value);
            boolean top = bare instanceof BinaryObjectImpl;
            byte[] bytes = top ? ((BinaryObjectImpl) bare).array() : marshaller.marshal(bare, false);
            lines.add((wraps && !top ? "W " : "V ") + encoded(bytes) + " " + json);
        }
        try (PrintWriter out = new PrintWriter(file, StandardCharsets.UTF_8)) {
            writeTypes(out);
            for (String line : lines) out.println(line);
        }
    }

    void read(String in, String file) throws Exception {
        try (PrintWriter out = new PrintWriter(file, StandardCharsets.UTF_8)) {
            for (String line : Files.readAllLines(Path.of(in))) {
                byte[] bytes = Base64.getDecoder().decode(line.split(" ")[1]);
                if (line.startsWith("T ")) {
                    BinaryReaderExImpl reader = new BinaryReaderExImpl(context, BinaryHeapInputStream.create(bytes, 1), null, null, true, true);
                    BinaryMetadata metadata = PlatformUtils.readBinaryMetadata(reader);
                    ((CacheObjectBinaryProcessorImpl) ((IgniteEx) ignite).context().cacheObjects()).binaryContext()
                        .updateMetadata(metadata.typeId(), metadata, false);
                    out.println(line);
                    continue;
                }
                Object value = marshaller.unmarshal(bytes, null);
                if (value instanceof BinaryObjectImpl) check((BinaryObjectImpl) value, bytes);
                out.println("V " + encoded(bytes) + " " + json(value, new ArrayDeque<>()));
            }
        }
    }

    /** Whether Java's builder makes the same bytes of the same fields: then it finds such a key. */
    void check(BinaryObjectImpl object, byte[] bytes) {
        BinaryObjectBuilder builder = ignite.binary().builder(object.type().typeName());
        boolean hasFields = (bytes[GridBinaryMarshaller.FLAGS_POS] & 2) != 0;
        int[] ids = hasFields ? object.createSchema().fieldIds() : new int[0];
        for (int id : ids) {
            String name = object.type().fieldNames().stream().filter(n -> context.fieldId(object.typeId(), n) == id).findFirst().get();
            Object value = object.field(name);
            if (value == null || value instanceof BinaryObject || value instanceof Collection || value instanceof Map || value instanceof Object[]) return;
            builder.setField(name, value);
        }
        BinaryObjectImpl rebuilt = (BinaryObjectImpl) builder.build();
        if (!Arrays.equals(rebuilt.array(), bytes) || rebuilt.hashCode() != object.hashCode())
            throw new IllegalStateException("Java writes other bytes: " + encoded(rebuilt.array()) + " for " + encoded(bytes));
        ++compared;
    }

    int compared = 0;

    public static void main(String[] arguments) throws Exception {
        ObjectJudge judge = new ObjectJudge(Integer.parseInt(arguments[0]), arguments[1], !arguments[arguments.length - 1].equals("full"));
        try {
            if (arguments[2].equals("write"))
                judge.write(arguments[3], Long.parseLong(arguments[4]), Integer.parseInt(arguments[5]));
            else
                judge.read(arguments[3], arguments[4]);
            System.out.println("compared " + judge.compared);
        } finally {
            Ignition.stopAll(true);
        }
    }
}
