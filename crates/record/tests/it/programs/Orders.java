/** Works three calls deep, sleeps in interpreted methods, and waits for a lock. */
public class Orders {
    static long kept;
    static final Object LOCK = new Object();

    static long parse(long order) {
        long hash = 7;
        for (int at = 0; at < 2000; at++) {
            hash = hash * 31 + (order ^ at);
            hash ^= hash >>> 7;
        }
        return hash;
    }

    static long check(long order) {
        return parse(order) + parse(order + 1);
    }

    static long handle(long order) {
        return check(order) ^ 3;
    }

    static void nap() throws Exception {
        Thread.sleep(20);
    }

    static void rest() throws Exception {
        nap();
    }

    static void hold() throws Exception {
        synchronized (LOCK) {
            Thread.sleep(10);
        }
    }

    interface Step {
        void go() throws Exception;
    }

    static void start(String name, Step step) {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    step.go();
                }
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) {
        start("napper", Orders::rest);
        start("holder", Orders::hold);
        start("waiter", Orders::hold);
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        for (long order = 0; System.nanoTime() < end; order++) {
            kept ^= handle(order);
        }
    }
}
