import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * WriteImages ADDRESS: fills the cache IMAGES with objects in objects, by Java's thin client; and KITTEN_IMAGES
 * with the object of Ignite's documentation.
 */
public class WriteImages {
    public static void main(String[] arguments) throws Exception {
        try (IgniteClient client = Ignition.startClient(new ClientConfiguration().setAddresses(arguments[0]))) {
            ClientCache<Object, Object> images = client.getOrCreateCache("IMAGES");
            for (int i = 0; i < 3; ++i) {
                BinaryObject metadata = client.binary().builder("ImageMetadata")
                    .setField("file_name", "image_" + i + ".png").setField("label", i).build();
                BinaryObjectBuilder image = client.binary().builder("Image")
                    .setField("metadata", metadata)
                    .setField("pixels", new byte[] {(byte) i, (byte) 0xff})
                    .setField("vector", new float[] {i, 0.5f});
                // Another schema of the same type.
                if (i == 2) image.setField("tags", new HashMap<>(Map.of("day", new ArrayList<>(List.of(1, "x")))));
                images.put("image " + i, image.build());
            }
            BinaryObject metadata = client.binary().builder("KittenMetadata").setField("file_name", "kitten.png")
                .setField("label", "little ball of fur").setField("width", 800).setField("height", 800).build();
            float[] pixels = new float[640_000];
            pixels[1] = 0.25f;
            client.getOrCreateCache("KITTEN_IMAGES").put("kitten.png", client.binary().builder("KittenImage")
                .setField("metadata", metadata).setField("pixels", pixels).build());
        }
    }
}
