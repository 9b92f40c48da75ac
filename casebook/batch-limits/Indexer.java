import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;

/** Indexes documents, and commits when a batch has as many of them as the limit allows. */
final class Indexer {
    private static final int DOCUMENTS = 6_000;
    private static final int INDEXES = 6;

    private final FileChannel file;
    private final ByteArrayOutputStream batch = new ByteArrayOutputStream();
    private int commits;

    private Indexer(FileChannel file) {
        this.file = file;
    }

    /** What an index keeps of a document. */
    private static byte[] entry(int document, int index) {
        CRC32 sum = new CRC32();
        StringBuilder term = new StringBuilder("term-");
        for (int k = 0; k < 60; k++) {
            term.append((char) ('a' + (document * 31 + index * 7 + k) % 26));
            sum.update(term.toString().getBytes(StandardCharsets.UTF_8));
        }
        return (term + "=" + Long.toHexString(sum.getValue()) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    private void add(int document) {
        for (int index = 0; index < INDEXES; index++) {
            batch.writeBytes(entry(document, index));
        }
    }

    /** Makes the batch durable: all of it or nothing is found after a crash. */
    private void commit() throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(batch.toByteArray());
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
        file.force(false);
        batch.reset();
        commits++;
    }

    public static void main(String[] arguments) throws IOException {
        int limit = Integer.parseInt(arguments[0]);
        Path path = Path.of("index");
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Indexer indexer = new Indexer(file);
            for (int document = 1; document <= DOCUMENTS; document++) {
                indexer.add(document);
                if (document % limit == 0) {
                    indexer.commit();
                }
            }
            indexer.commit();
            System.out.println(DOCUMENTS + " documents, " + indexer.commits + " commits, " + file.size() + " bytes");
        } finally {
            Files.delete(path);
        }
    }
}
