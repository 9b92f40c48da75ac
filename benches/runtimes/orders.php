<?php
// As orders.py: `php orders.php cpu|mixed COUNT FILE PIECE`.

$lines = [];
for ($line = 0; $line < 64; $line++) {
    $parts = [];
    for ($part = 0; $part < 20; $part++) $parts[] = $line * 37 + $part * 11;
    $lines[] = implode(',', $parts);
}

function parse(string $line): array
{
    return array_map('intval', explode(',', $line));
}

function price(array $parts): int
{
    $total = 0;
    foreach ($parts as $part) $total = ($total * 31 + $part) % 1000003;
    return $total;
}

function handle(int $number, array &$totals): void
{
    global $lines;
    $key = price(parse($lines[$number % 64])) % 997;
    $totals[$key] = ($totals[$key] ?? 0) + 1;
}

function handle_all(int $first, int $count, array &$totals): void
{
    for ($number = $first; $number < $first + $count; $number++) handle($number, $totals);
}

function mix(int $begin, int $count, string $path, array &$totals): void
{
    for ($first = $begin; $first < $begin + $count; $first += 250) {
        handle_all($first, 250, $totals);
        file_get_contents($path);
        usleep(1000);
    }
}

[, $part, $count, $path, $piece] = $argv;
$totals = [];
for ($first = 0; $first < (int) $count; $first += (int) $piece) {
    if ($part === 'cpu') handle_all($first, (int) $piece, $totals);
    else mix($first, (int) $piece, $path, $totals);
    echo count($totals), "\n";
}
