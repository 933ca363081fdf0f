# Runs the vectors of calls, retries and breakers through the Ruby that generate.rb prints: `ruby run.rb PATH`.
#
# One line a file, the first failures before it, and exit code 1 if anything failed: tests/vectors/README.md. The other kinds are
# counted as those of other runners.
require "json"
require "holdoff"

# The difference between what a case expects and what came out.
class Difference < StandardError; end

module Values
  KINDS = %w[transient throttled timeout permanent].freeze

  def number(value)
    return Holdoff::NEVER if value == "never"

    Integer(value || 0)
  end

  def failure(item)
    failure = Holdoff::Failure.new
    failure.kind = KINDS.index(item["kind"]) + 1
    failure.rule = item["rule"] || 0
    case item["hint"]
    when "none" then failure.hint = Holdoff::HINT_NONE
    when "never" then failure.hint = Holdoff::HINT_NEVER
    else
      failure.hint = Holdoff::HINT_AFTER
      failure.hint_ns = number(item["hint"])
    end
    failure
  end

  def options(document)
    text = JSON.generate(document)
    options = Holdoff::Options.new.init
    @patterns = FFI::MemoryPointer.new(:char, text.bytesize * 2 + 1)
    options.keep_patterns(@patterns, @patterns.size)
    options.read_json(text)
  end

  def policy(document) = Holdoff::Policy.new.tap { |policy| policy.build(options(document)) }

  # A step in the words of the vectors.
  def shown(step)
    case step.kind
    when Holdoff::ATTEMPT then { "kind" => "attempt", "attempt" => step.attempt, "abort_at" => step.at, "wake_at" => step.wake_at }
    when Holdoff::SLEEP then { "kind" => "sleep", "until" => step.at, "cause" => Holdoff.word(Holdoff::WORD_CAUSE, step.cause) }
    when Holdoff::WAIT then { "kind" => "wait", "until" => step.at }
    else
      stop = { "kind" => "stop", "outcome" => Holdoff.word(Holdoff::WORD_OUTCOME, step.outcome) }
      return stop if step.outcome != Holdoff::GAVE_UP

      stop.merge("reason" => Holdoff.word(Holdoff::WORD_REASON, step.reason), "retry_at" => step.at)
    end
  end

  # A step as a decision: a stop is known by its outcome.
  def decided(step)
    all = shown(step)
    return all if all["kind"] != "stop"

    { "kind" => all["outcome"].sub("gave_up", "give_up") }.merge(all.except("kind", "outcome"))
  end

  def wanted(item) = item&.to_h { |name, value| [name, %w[abort_at wake_at until retry_at].include?(name) ? number(value) : value] }

  def same(expected, got, at)
    raise Difference, "expected #{JSON.generate(expected)}, got #{JSON.generate(got)} (at step #{at})" if expected != got
  end

  def pairs(item, one, other)
    raise Difference, "expected as many #{other} as #{one}" if item[one].length != item[other].length

    item[one].zip(item[other]).each_with_index { |(event, answer), at| yield event, answer, at }
  end
end

# The runners of each kind.
module Runners
  extend Values

  module_function

  def call(item)
    policy, call = policy(item["policy"]), Holdoff::Call.new
    pairs(item, "events", "steps") do |event, step, at|
      now, ticket = number(event["now"]), number(event["ticket"])
      got = case event["op"]
            when "begin" then call.begin(policy, number(item["seed"]), now)
            when "underway" then call.underway(number(item["seed"]), number(event["started"])) && nil
            when "succeed" then call.succeed(ticket, now)
            when "fail" then call.fail(policy, ticket, now, failure(event["failure"]))
            when "tick" then call.tick(policy, now)
            when "cancel" then call.cancel(now)
            end
      same(wanted(step), got && shown(got), at)
    end
  end

  def retry(item)
    return paid(item) if item["tokens"]

    policy = policy(item["policy"])
    retrying = Holdoff::Retry.new.init(number(item["seed"]), number(item["started"]))
    pairs(item, "failures", "decisions") do |event, decision, at|
      same(wanted(decision), decided(retrying.on_failure(policy, number(event["now"]), failure(event["failure"]))), at)
    end
  end

  # Retries that share a budget, as calls under guards.
  def paid(item)
    options = options(item["policy"])
    policy = Holdoff::Policy.new.build(options)
    seed, started = number(item["seed"]), number(item["started"])
    budget = Holdoff::Budget.new.init(options, 0, started)
    guards = Holdoff::Guards.new
    guards.budget = budget
    call = Holdoff::GuardedCall.new
    step = call.begin(policy, guards, seed, started)
    pairs(item, "failures", "decisions") do |event, decision, at|
      now = number(event["now"])
      step = call.begin(policy, guards, seed, now) if event["new_call"]
      step = call.tick(policy, guards, now) if step.kind == Holdoff::SLEEP
      step = if event["failure"] then call.fail(policy, guards, step.ticket, now, failure(event["failure"]))
             else call.succeed(guards, step.ticket, now)
             end
      same(wanted(decision), decided(step), at)
      tokens = item["tokens"][at]
      same(tokens, budget.balance(now), at) if tokens
    end
  end

  def breaker(item)
    breaker = Holdoff::Breaker.new.init(options("breaker" => item["breaker"]), number(item["seed"]), number(item["made"]))
    permits = {}
    pairs(item, "events", "answers") do |event, answer, at|
      now, permit = number(event["now"]), permits[event["permit"]]
      case event["event"]
      when "acquire"
        allowed, permits[at], retry_at = breaker.acquire(now)
        same(answer["refused"] && number(answer["refused"]), allowed ? nil : retry_at, at)
      when "record" then breaker.record(permit, now, event["verdict"] == "failure", number(event["took"]))
      when "abandon" then breaker.abandon(permit, now)
      when "hint" then breaker.hint(now, number(event["span"]))
      when "isolate" then breaker.isolate(now)
      when "close" then breaker.force_close(now)
      when "reset" then breaker.reset(now)
      end
      same(answer["state"], Holdoff.word(Holdoff::WORD_BREAKER, breaker.state(now)), at)
      same(answer["counts"], breaker.rates(now), at)
      same(answer["openings"], breaker.openings, at)
    end
  end
end

# Runs one file; says whether all of it passed.
def run(path, name)
  document = JSON.parse(File.read(path))
  cases = document.fetch("cases")
  unless %w[call retry breaker].include?(document.fetch("kind"))
    puts "#{name}: 0 passed, 0 failed, 0 deviations (#{cases.length} for other runners)"
    return true
  end
  failures = cases.filter_map do |item|
    Runners.public_send(document["kind"], item) && nil
  rescue Difference, Holdoff::Error => error
    "  #{item["name"]}: #{error.message}"
  end
  puts failures.first(5)
  puts "#{name}: #{cases.length - failures.length} passed, #{failures.length} failed, 0 deviations"
  failures.empty?
end

root = ARGV.fetch(0)
paths = File.directory?(root) ? Dir.glob("**/*.json", base: root).sort : [""]
paths.reject! { |path| %w[schema.json log_policies.json].include?(File.basename(path)) }
good = paths.map { |path| run(path.empty? ? root : File.join(root, path), path.empty? ? File.basename(root) : path) }
exit(good.all? ? 0 : 1)
