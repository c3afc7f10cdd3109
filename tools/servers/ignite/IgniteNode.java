import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.binary.CacheObjectBinaryProcessorImpl;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.apache.ignite.ssl.SslContextFactory;

/**
 * A node of Apache Ignite for tests, on 127.0.0.1. Properties: name, work (a folder), ports.discovery (all
 * nodes', with commas), port.discovery, port.communication, port.client, region_mib, nodes (how many make the
 * cluster); keys (a folder with node.p12 and trust.p12; empty: plain), client_certificate (true: asked for),
 * active (false: stays inactive). It creates the file WORK/ready once all nodes are there.
 */
public class IgniteNode {
    private static final char[] KEYS_PASSWORD = "headrace".toCharArray();

    public static void main(String[] arguments) throws Exception {
        Ignite node = Ignition.start(configuration());
        int nodes = Integer.getInteger("nodes");
        while (node.cluster().forServers().nodes().size() < nodes) Thread.sleep(50);
        boolean isFirst = property("port.discovery").equals(property("ports.discovery").split(",")[0]);
        if (isFirst && isSecure() && Boolean.getBoolean("active")) node.cluster().state(ClusterState.ACTIVE);
        if (isFirst && !isSecure()) writePartitions((IgniteEx)node, new File(property("work"), "partitions.tsv"));
        Files.createFile(Path.of(property("work"), "ready"));
    }

    private static String property(String name) { return System.getProperty(name); }

    private static boolean isSecure() { return !property("keys").isEmpty(); }

    private static IgniteConfiguration configuration() {
        String[] discoveryPorts = property("ports.discovery").split(",");
        TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder();
        finder.setAddresses(Arrays.asList(Arrays.stream(discoveryPorts).map(port -> "127.0.0.1:" + port)
            .toArray(String[]::new)));
        DataRegionConfiguration region = new DataRegionConfiguration().setName("default")
            .setInitialSize(64L << 20).setMaxSize(Long.getLong("region_mib") << 20)
            .setPersistenceEnabled(isSecure());
        return new IgniteConfiguration().setIgniteInstanceName(property("name"))
            .setConsistentId(property("name")).setWorkDirectory(property("work")).setLocalHost("127.0.0.1")
            .setMetricsLogFrequency(0).setConnectorConfiguration(null)
            .setAuthenticationEnabled(isSecure()).setFailureDetectionTimeout(5_000)
            .setPublicThreadPoolSize(4).setSystemThreadPoolSize(8).setQueryThreadPoolSize(8)
            .setDataStorageConfiguration(new DataStorageConfiguration()
                .setDefaultDataRegionConfiguration(region).setWalSegmentSize(4 << 20))
            .setDiscoverySpi(new TcpDiscoverySpi().setLocalAddress("127.0.0.1")
                .setLocalPort(Integer.getInteger("port.discovery")).setLocalPortRange(0).setIpFinder(finder))
            .setCommunicationSpi(new TcpCommunicationSpi().setLocalAddress("127.0.0.1")
                .setLocalPort(Integer.getInteger("port.communication")))
            .setClientConnectorConfiguration(clientConnector());
    }

    private static ClientConnectorConfiguration clientConnector() {
        ClientConnectorConfiguration connector = new ClientConnectorConfiguration().setHost("127.0.0.1")
            .setPort(Integer.getInteger("port.client")).setPortRange(0).setThreadPoolSize(4);
        if (!isSecure()) return connector;
        SslContextFactory tls = new SslContextFactory();
        tls.setKeyStoreType("PKCS12");
        tls.setKeyStoreFilePath(property("keys") + "/node.p12");
        tls.setKeyStorePassword(KEYS_PASSWORD);
        tls.setTrustStoreType("PKCS12");
        tls.setTrustStoreFilePath(property("keys") + "/trust.p12");
        tls.setTrustStorePassword(KEYS_PASSWORD);
        tls.setProtocol("TLS");
        return connector.setSslEnabled(true).setUseIgniteSslContextFactory(false).setSslContextFactory(tls)
            .setSslClientAuth(Boolean.getBoolean("client_certificate"));
    }

    /** Lines "partitions TAB partition TAB encoded key in hexadecimal": what a client must compute alike. */
    private static void writePartitions(IgniteEx node, File target) throws Exception {
        try (PrintWriter out = new PrintWriter(target)) {
            for (int partitions : new int[] {1024, 1000, 7}) {
                String name = "headrace_affinity_" + partitions;
                node.getOrCreateCache(new CacheConfiguration<>(name)
                    .setAffinity(new RendezvousAffinityFunction(false, partitions)));
                for (int i = 0; i < 1000; ++i)
                    for (Object key : keys(node, i * 2_654_435_761L))
                        out.println(partitions + "\t" + node.affinity(name).partition(key) + "\t" + hex(node, key));
                node.destroyCache(name);
            }
        }
    }

    private static Object[] keys(Ignite node, long seed) {
        byte[] bytes = Long.toString(seed, 36).getBytes();
        return new Object[] {
            seed, (int)seed, (short)seed, (byte)seed, (char)seed, seed % 2 == 0, seed / 7f, seed / 7d,
            "key-" + seed, "Schlüssel \ud83c\udf0a " + seed, bytes, new UUID(seed * 31, ~seed),
            node.binary().builder("headrace.Key").setField("id", seed).setField("part", "p" + seed).build()};
    }

    private static String hex(IgniteEx node, Object key) throws Exception {
        CacheObjectBinaryProcessorImpl objects = (CacheObjectBinaryProcessorImpl)node.context().cacheObjects();
        StringBuilder text = new StringBuilder();
        for (byte value : objects.marshaller().marshal(key, false)) text.append(String.format("%02x", value));
        return text.toString();
    }
}
