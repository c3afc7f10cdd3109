import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.ignite.IgniteServer;
import org.apache.ignite.InitParameters;

/**
 * A node of Apache Ignite 3 for tests, on 127.0.0.1. Properties: name, work (a folder), port.discovery,
 * port.communication (which Ignite 3 uses for REST), port.client. It creates the file WORK/ready once clients can
 * connect.
 */
public class Ignite3Node {
    public static void main(String[] arguments) throws Exception {
        Path work = Path.of(property("work"));
        Path configuration = work.resolve("ignite.conf");
        Files.writeString(configuration, "ignite {\n"
            + "  network { listenAddresses = [\"127.0.0.1\"], port = " + property("port.discovery") + "\n"
            + "    nodeFinder.netClusterNodes = [\"127.0.0.1:" + property("port.discovery") + "\"] }\n"
            + "  clientConnector { listenAddresses = [\"127.0.0.1\"], port = " + property("port.client") + " }\n"
            + "  rest.port = " + property("port.communication") + "\n"
            + "}\n");
        IgniteServer node = IgniteServer.start(property("name"), configuration, work.resolve("data"));
        node.initCluster(InitParameters.builder().clusterName("headrace")
            .metaStorageNodeNames(property("name")).build());
        node.api();
        Files.createFile(work.resolve("ready"));
    }

    private static String property(String name) { return System.getProperty(name); }
}
