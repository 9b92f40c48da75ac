<?php
// Waits for a line at the end of calls of several kinds.
class Orders
{
    public static function parse(string $name): void
    {
        array_map(function ($number) use ($name) {
            foreach (self::numbers($name) as $each) {
                (new Lines())->read($each);
            }
        }, [1]);
    }

    private static function numbers(string $name): Generator
    {
        yield $name;
    }
}

class Lines
{
    public function __call($name, $arguments)
    {
        call_user_func_array([$this, 'wait'], $arguments);
    }

    private function wait(string $name): void
    {
        echo "ready\n";
        eval("\n" . 'fgets(STDIN);');
    }
}

function main(string $name): void
{
    Orders::parse($name);
}

main('a');
