import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Java's thin client reads a cache, as its documentation shows:
 *
 *   ScanIgnite scan ADDRESSES CACHE REPEATS PAGE_ROWS                 one scan of the whole cache
 *   ScanIgnite batches ADDRESSES CACHE REPEATS PAGE_ROWS THREADS      a scan of each partition, by threads,
 *                                                                     into batches of 128 rows of arrays
 *
 * Writes JSON: "records", and CPU and wall seconds of each repeat, after two that are not counted.
 */
public class ScanIgnite {
    private static final int PARTITIONS = 1024;
    private static final int BATCH = 128;
    private static final int WARM = 2;

    public static void main(String[] arguments) throws Exception {
        String[] addresses = arguments[1].split(",");
        int repeats = Integer.parseInt(arguments[3]);
        int pageRows = Integer.parseInt(arguments[4]);
        ClientConfiguration configuration = new ClientConfiguration().setAddresses(addresses);
        try (IgniteClient client = Ignition.startClient(configuration)) {
            if (arguments[0].equals("scan")) {
                ClientCache<Object, Object> cache = client.cache(arguments[2]);
                report(repeats, () -> scan(cache, pageRows));
            } else {
                ClientCache<Object, BinaryObject> cache = client.cache(arguments[2]).withKeepBinary();
                int threads = Integer.parseInt(arguments[5]);
                report(repeats, () -> batches(cache, pageRows, threads));
            }
        }
    }

    private static void report(int repeats, Callable<Long> work) throws Exception {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        List<String> cpu = new ArrayList<>(), wall = new ArrayList<>();
        long records = 0;
        for (int i = 0; i < WARM + repeats; ++i) {
            long cpuBefore = system.getProcessCpuTime(), wallBefore = System.nanoTime();
            records = work.call();
            if (i < WARM) continue;
            cpu.add(String.valueOf((system.getProcessCpuTime() - cpuBefore) / 1e9));
            wall.add(String.valueOf((System.nanoTime() - wallBefore) / 1e9));
        }
        System.out.println("{\"records\": " + records + ", \"cpu_s\": " + cpu + ", \"wall_s\": " + wall + "}");
    }

    private static long scan(ClientCache<Object, Object> cache, int pageRows) {
        long rows = 0;
        try (QueryCursor<Cache.Entry<Object, Object>> cursor =
                cache.query(new ScanQuery<Object, Object>().setPageSize(pageRows))) {
            for (Cache.Entry<Object, Object> entry : cursor) rows += entry.getValue() == null ? 0 : 1;
        }
        return rows;
    }

    private static long batches(ClientCache<Object, BinaryObject> cache, int pageRows, int threads) throws Exception {
        AtomicInteger next = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Long>> counts = new ArrayList<>();
        for (int i = 0; i < threads; ++i) counts.add(pool.submit(() -> partitions(cache, pageRows, next)));
        long rows = 0;
        for (Future<Long> count : counts) rows += count.get();
        pool.shutdown();
        return rows;
    }

    private static long partitions(ClientCache<Object, BinaryObject> cache, int pageRows, AtomicInteger next) {
        long rows = 0;
        float[][] vectors = new float[BATCH][];
        long[] ids = new long[BATCH];
        int[] labels = new int[BATCH];
        for (int partition = next.getAndIncrement(); partition < PARTITIONS; partition = next.getAndIncrement()) {
            ScanQuery<Object, BinaryObject> query = new ScanQuery<Object, BinaryObject>().setPageSize(pageRows);
            query.setPartition(partition);
            try (QueryCursor<Cache.Entry<Object, BinaryObject>> cursor = cache.query(query)) {
                for (Cache.Entry<Object, BinaryObject> entry : cursor) {
                    BinaryObject value = entry.getValue();
                    int at = (int) (rows++ % BATCH);
                    vectors[at] = value.field("vector");
                    ids[at] = value.field("id");
                    labels[at] = ((BinaryObject) value.field("metadata")).field("label");
                }
            }
        }
        return rows;
    }
}
