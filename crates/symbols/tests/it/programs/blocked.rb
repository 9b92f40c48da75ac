# Threads that wait, each deep in calls of another kind; the main thread says on request where they are.

require 'fiber'

class Orders
  def parse(kind)
    [1].each do |number|
      1.times { send(kind, number) }
    end
  end

  def wait_for_queue(_)
    Queue.new.pop
  end

  define_method(:wait_in_sleep) do |_|
    sleep
  end

  def wait_in_ensure(_)
    begin
      raise 'x'
    rescue RuntimeError
      begin
        nil
      ensure
        wait_for_queue(1)
      end
    end
  end

  def wait_in_eval(_)
    eval("1\n2\nsleep", binding, 'made up', 10)
  end

  def wait_in_fiber(_)
    Fiber.new do
      Fiber.new { wait_for_queue(2) }.resume
    end.resume
  end

  def self.wait_deep(depth)
    depth.zero? ? sleep : wait_deep(depth - 1)
  end

  def wait_recursive(_)
    Orders.wait_deep(1500)
  end

  # More instructions than one block of the table of lines.
  eval("def wait_long(_)\n" + "  a = 1 + 2\n" * 400 + "  sleep\n" + "  a = 1 + 2\n" * 400 + "end",
       binding, 'long', 1)
end

names = %i[wait_for_queue wait_in_sleep wait_in_ensure wait_in_eval wait_in_fiber wait_recursive
           wait_long]
threads = names.map do |name|
  thread = Thread.new { Orders.new.parse(name) }
  thread.name = name.to_s
  thread
end

def show(threads)
  threads.each do |thread|
    puts "thread #{thread.name} #{thread.status}"
    (thread.backtrace_locations || []).reverse_each do |at|
      # From 3.4 on, labels have their class.
      label = at.label.gsub(/[A-Z]\w*(::\w+)*[#.]/, '')
      puts "#{label}\t#{at.absolute_path || at.path}\t#{at.lineno}"
    end
  end
  puts 'end'
  STDOUT.flush
end

show(threads) while STDIN.gets
