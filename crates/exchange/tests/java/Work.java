import java.io.RandomAccessFile;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Runs, waits and allocates in ways that a flight recording tells apart. */
public class Work {
    static final Object LOCK = new Object();
    static final CountDownLatch HELD = new CountDownLatch(1);
    static volatile Object kept;

    public static void main(String[] words) throws Exception {
        long rounds = words.length > 0 ? Long.parseLong(words[0]) : 1;
        Thread holder = start("holder", Work::hold);
        serve();
        holder.join();
        for (long round = 0; round < rounds; round++) {
            parse();
        }
        LockSupport.parkNanos(5_000_000);
        talk();
        write();
    }

    static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.start();
        return thread;
    }

    /** Holds the lock until somebody waits for it. */
    static void hold() {
        synchronized (LOCK) {
            HELD.countDown();
            while (mainThread().getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
        }
    }

    static Thread mainThread() {
        return Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("main"))
            .findFirst().orElseThrow();
    }

    /** Waits for the holder to have the lock, then for the lock, then to be told, then sleeps. */
    static void serve() throws Exception {
        HELD.await();
        synchronized (LOCK) {
            LOCK.wait(5);
        }
        Thread.sleep(30);
    }

    /** Runs for a while, and allocates. */
    static void parse() {
        long sum = 0;
        long end = System.nanoTime() + 300_000_000L;
        while (System.nanoTime() < end) {
            for (int at = 0; at < 2_000; at++) {
                sum += digits(at + sum).length;
            }
        }
        kept = sum;
    }

    static char[] digits(long number) {
        char[] digits = new char[64];
        int length = 0;
        for (long rest = number & 0xffffffffL; rest > 0 || length == 0; rest /= 10) {
            digits[length++] = (char) ('0' + rest % 10);
        }
        kept = digits;
        return digits;
    }

    /** Reads from a peer that answers late. */
    static void talk() throws Exception {
        try (ServerSocket server = new ServerSocket(0)) {
            Thread peer = start("peer", () -> answer(server));
            try (Socket socket = new Socket("localhost", server.getLocalPort())) {
                socket.getInputStream().read();
            }
            peer.join();
        }
    }

    static void answer(ServerSocket server) {
        try (Socket socket = server.accept()) {
            Thread.sleep(15);
            socket.getOutputStream().write(1);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    /** Writes a file and reads it. */
    static void write() throws Exception {
        Path path = Files.createTempFile("work", ".txt");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.write(new byte[1 << 20]);
            file.getChannel().force(true);
            file.seek(0);
            file.read(new byte[1 << 20]);
        }
        Files.delete(path);
    }
}
