import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;

/** As orders.py: `java -cp . Orders cpu|mixed COUNT FILE PIECE`. */
public class Orders {
  static final String[] LINES = new String[64];

  static void fill() {
    for (int line = 0; line < 64; line++) {
      StringBuilder text = new StringBuilder();
      for (int part = 0; part < 20; part++) {
        text.append(part == 0 ? "" : ",").append(line * 37 + part * 11);
      }
      LINES[line] = text.toString();
    }
  }

  static int[] parse(String line) {
    String[] parts = line.split(",");
    int[] numbers = new int[parts.length];
    for (int i = 0; i < parts.length; i++) numbers[i] = Integer.parseInt(parts[i]);
    return numbers;
  }

  static int price(int[] parts) {
    long total = 0;
    for (int part : parts) total = (total * 31 + part) % 1000003;
    return (int) total;
  }

  static void handle(int number, Map<Integer, Integer> totals) {
    totals.merge(price(parse(LINES[number % 64])) % 997, 1, Integer::sum);
  }

  static void handleAll(int first, int count, Map<Integer, Integer> totals) {
    for (int number = first; number < first + count; number++) handle(number, totals);
  }

  static void mix(int begin, int count, String path, Map<Integer, Integer> totals) throws Exception {
    for (int first = begin; first < begin + count; first += 250) {
      handleAll(first, 250, totals);
      Files.readAllBytes(Paths.get(path));
      Thread.sleep(1);
    }
  }

  public static void main(String[] arguments) throws Exception {
    fill();
    int count = Integer.parseInt(arguments[1]);
    int piece = Integer.parseInt(arguments[3]);
    Map<Integer, Integer> totals = new HashMap<>();
    for (int first = 0; first < count; first += piece) {
      if (arguments[0].equals("cpu")) handleAll(first, piece, totals);
      else mix(first, piece, arguments[2], totals);
      System.out.println(totals.size());
    }
  }
}
