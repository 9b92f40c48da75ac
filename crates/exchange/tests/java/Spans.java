import jdk.jfr.Event;

/** Handles requests in steps, each of which an event of its own tells. */
public class Spans {
    static class Request extends Event {
        String path;
    }

    static class Step extends Event {
        int number;
    }

    static volatile long kept;

    public static void main(String[] words) throws Exception {
        Thread other = new Thread(() -> handle("/a", "/b"), "handler");
        other.start();
        handle("/c", "/d");
        other.join();
    }

    static void handle(String... paths) {
        for (String path : paths) {
            Request request = new Request();
            request.path = path;
            request.begin();
            for (int number = 0; number < 3; number++) {
                step(number);
            }
            request.commit();
        }
    }

    /** Runs for a while, and the last one sleeps. */
    static void step(int number) {
        Step step = new Step();
        step.number = number;
        step.begin();
        long end = System.nanoTime() + 2_000_000L;
        while (System.nanoTime() < end) {
            kept += number;
        }
        if (number == 2) {
            sleep();
        }
        step.commit();
    }

    static void sleep() {
        try {
            Thread.sleep(6);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
