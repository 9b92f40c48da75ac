package culprit;

import java.util.AbstractMap;
import java.util.Collection;
import java.util.Map;
import java.util.Set;

/**
 * The variables of a Java program, with a note of each name that it asks for.
 *
 * <p>shim/javaenv.c puts it between System.getenv and the map that holds the variables. Environment.class is made
 * of this file: {@code javac --release 8 -g:none}. A test compares them.
 */
final class Environment extends AbstractMap<String, String> {
    private final Map<String, String> variables;

    Environment(Map<String, String> variables) {
        this.variables = variables;
    }

    /** The program asks for the value of a name, or only whether it is set. */
    private static native void note(Object name, boolean value);

    @Override
    public String get(Object name) {
        note(name, true);
        return variables.get(name);
    }

    @Override
    public boolean containsKey(Object name) {
        note(name, false);
        return variables.containsKey(name);
    }

    @Override
    public boolean containsValue(Object value) {
        return variables.containsValue(value);
    }

    @Override
    public String put(String name, String value) {
        return variables.put(name, value);
    }

    @Override
    public String remove(Object name) {
        return variables.remove(name);
    }

    @Override
    public void clear() {
        variables.clear();
    }

    @Override
    public int size() {
        return variables.size();
    }

    @Override
    public Set<String> keySet() {
        return variables.keySet();
    }

    @Override
    public Collection<String> values() {
        return variables.values();
    }

    @Override
    public Set<Map.Entry<String, String>> entrySet() {
        return variables.entrySet();
    }
}
