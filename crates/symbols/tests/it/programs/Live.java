/** Compiled methods that are inlined into each other, and interpreted ones that wait. */
public class Live {
    static long kept;

    static void keep(long value) {
        kept += value;
    }

    static void leaf(long value) {
        long changed = value * 31;
        keep(changed);
    }

    static void middle(long value) {
        if (value > 0) {
            leaf(value - 1);
        }
    }

    static void top(long value) {
        kept ^= value;
        middle(value + 1);
    }

    static int pause() throws Exception {
        System.out.println("ready");
        return System.in.read();
    }

    public static void main(String[] arguments) throws Exception {
        for (long round = 1; round < 40_000; round++) {
            top(round);
        }
        Runnable waits = () -> {
            try {
                pause();
            } catch (Exception error) {
                throw new AssertionError(error);
            }
        };
        waits.run();
    }
}
