# As orders.py: `ruby orders.rb cpu|mixed COUNT FILE PIECE`.

LINES = Array.new(64) { |line| Array.new(20) { |part| line * 37 + part * 11 }.join(',') }

def parse(line)
  line.split(',').map(&:to_i)
end

def price(parts)
  parts.inject(0) { |total, part| (total * 31 + part) % 1_000_003 }
end

def handle(number, totals)
  totals[price(parse(LINES[number % 64])) % 997] += 1
end

def handle_all(first, count, totals)
  number = first
  while number < first + count
    handle(number, totals)
    number += 1
  end
end

def mix(start, count, path, totals)
  start.step(start + count - 1, 250) do |first|
    handle_all(first, 250, totals)
    File.binread(path)
    sleep(0.001)
  end
end

part, count, path, piece = ARGV
totals = Hash.new(0)
$stdout.sync = true
0.step(count.to_i - 1, piece.to_i) do |first|
  part == 'cpu' ? handle_all(first, piece.to_i, totals) : mix(first, piece.to_i, path, totals)
  puts totals.size
end
