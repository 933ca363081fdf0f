# A loop over the machine in Ruby, and a wrong field.
#
#     ruby tests/runners/ruby/generate.rb bindings-c/interface.json > holdoff.rb && ruby -I . examples/ruby/retry.rb
require "holdoff"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Runs a block until it succeeds or the policy gives up, and sleeps in between.
def with_retries(policy)
  call = Holdoff::Call.new
  step = call.begin(policy, Random.new_seed % 2**64, now)
  until step.kind == Holdoff::STOP
    if step.kind == Holdoff::SLEEP
      sleep([step.at - now, 0].max / 1e9)
      step = call.tick(policy, now)
    else
      begin
        value = yield step.attempt
        step = call.succeed(step.ticket, now)
      rescue StandardError => error
        step = call.fail(policy, step.ticket, now, Holdoff.failure_of(Holdoff::TRANSIENT))
      end
    end
  end
  step.outcome == Holdoff::SUCCEEDED ? value : raise(error)
end

options = Holdoff::Options.new.init
options.set_text("backoff.initial", "5ms")
options.set_number("attempts", 4)
policy = Holdoff::Policy.new.build(options)

answer = with_retries(policy) { |attempt| attempt < 3 ? raise("connection reset") : "hello from attempt #{attempt}" }
puts answer
exit 1 if answer != "hello from attempt 3"

wrong = Holdoff::Options.new.init
begin
  wrong.set_number("atempts", 3)
rescue Holdoff::Error => error
  puts "error #{error.code}: #{error.message}"
end
begin
  Holdoff::Policy.new.build(wrong)
  exit 1
rescue Holdoff::Error => error
  puts error.message
  exit 1 if error.nearest != "attempts" || error.path != "atempts"
end
