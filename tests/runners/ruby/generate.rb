# Prints holdoff for Ruby from interface.json: `ruby generate.rb bindings-c/interface.json > holdoff.rb`.
#
# Nothing in here knows a machine: the same rules make every class and method. They are those that the header promises:
#
# - a function whose name and first parameter have the name of a struct is a method of its class, any other one of the module;
# - a number or a struct behind a pointer that is not const is an answer, unless it is the first parameter;
# - `char *` and a size behind it are memory for a text, which is an answer too;
# - `const char *` and a length behind it are one String;
# - an int is 0 or an error, except where a text was asked for: then it is the length of that;
# - a problem is the text of an error.
require "json"

# The functions that keep the memory they are given, as all functions keep `words`: the caller passes it, and keeps it too.
KEEPING = %w[holdoff_options_keep_patterns].freeze
KEYWORDS = %w[begin end ensure in module next not redo rescue retry return self then when].freeze
NUMBERS = {
  "bool" => ":bool", "char" => ":char", "double" => ":double", "int" => ":int", "int64_t" => ":int64", "size_t" => ":size_t",
  "uint8_t" => ":uint8", "uint16_t" => ":uint16", "uint32_t" => ":uint32", "uint64_t" => ":uint64", "void" => ":void", "const char *" => ":string"
}.freeze

PREAMBLE = <<~'RUBY'.freeze
  # Generated from interface.json: the whole of libholdoff. Times are nanoseconds.
  require "ffi"

  module Holdoff
    # A wrong configuration, or wrong use.
    class Error < StandardError
      attr_reader :code, :path, :value, :rule, :nearest

      def initialize(code, problem = nil)
        @code = code
        @path, @value, @rule, @nearest = %i[path value rule nearest].map { |name| problem ? problem[name].to_s : "" }
        super(problem ? problem.text : C.holdoff_word(WORD_ERROR_RULE, code))
      end
    end

    # Memory for texts, cut at its end.
    TEXT = 65_536

    # The functions of C as they are.
    module C
      extend FFI::Library
      ffi_lib ENV.fetch("HOLDOFF_LIBRARY", "libholdoff.so.0.1")
    end
RUBY

# The interface, and the text that is printed of it.
class Generator
  def initialize(interface)
    @interface = interface
    @structs = interface["structs"].to_h { |one| [one["name"], one] }
    @lines = PREAMBLE.lines(chomp: true)
  end

  def text
    constants
    ordered.each { |one| declare(one) }
    @interface["functions"].each { |function| attach(function) }
    check
    methods = @interface["functions"].group_by { |function| receiver(function) }
    @structs.each_key { |name| reopen(name, methods.fetch(name, [])) }
    methods.fetch(nil, []).each { |function| define(function, "self.#{short(function["name"])}") }
    "#{@lines.join("\n")}\nend\n"
  end

  private

  def put(line, depth = 1) = @lines << "#{"  " * depth}#{line}".rstrip

  def document(text, depth) = text.each_line(chomp: true) { |line| put("# #{line}", depth) }

  def short(name) = name.delete_prefix("holdoff_")

  def class_of(name) = short(name).split("_").map(&:capitalize).join

  # The struct that a type is, or points to.
  def struct_of(type)
    name = type.delete_prefix("const ").delete_suffix(" *")
    name if @structs.key?(name)
  end

  def opaque?(name) = @structs[name]["size"].nil?

  def pointer?(type) = type.end_with?("*") || type.include?("(*)")

  # A type for FFI.
  def ffi(type)
    return NUMBERS.fetch(type) if NUMBERS.key?(type)
    return ":pointer" if pointer?(type)

    "#{class_of(type)}.by_value"
  end

  def constants
    @interface["constants"].each do |constant|
      put("")
      document(constant["doc"], 1)
      put("#{constant["name"].delete_prefix("HOLDOFF_")} = #{constant["value"]}")
    end
  end

  # The structs in such an order that a struct comes after its fields.
  def ordered
    done = []
    add = lambda do |one|
      one["fields"].each { |field| add.call(@structs[field["type"]]) if @structs.key?(field["type"]) }
      done |= [one]
    end
    @structs.each_value(&add)
    done
  end

  def declare(struct)
    put("")
    document(struct["doc"], 1)
    name = class_of(struct["name"])
    return put("class #{name} < FFI::AutoPointer; end") if opaque?(struct["name"])

    put("class #{name} < FFI::Struct")
    fields = struct["fields"].map do |field|
      kind = @structs.key?(field["type"]) ? class_of(field["type"]) : ffi(field["type"]).sub(":string", ":pointer")
      ":#{field["name"]}, #{field["length"] ? "[#{kind}, #{field["length"]}]" : kind}, #{offset(field)}"
    end
    put("layout #{fields.join(", ")}", 2)
    struct["fields"].each { |field| accessors(field) }
    put("end")
  end

  # The offset on this machine.
  def offset(field) = field["offset"][([nil].pack("p").bytesize * 8).to_s]

  def accessors(field)
    return if %w[magic state].include?(field["name"])

    put("")
    document(field["doc"] || "", 2)
    put("def #{field["name"]} = self[:#{field["name"]}]#{".to_s" if field["type"] == "char" && field["length"]}", 2)
    put("def #{field["name"]}=(value)", 2)
    put("self[:#{field["name"]}] = value", 3)
    put("end", 2)
  end

  def attach(function)
    types = function["parameters"].map { |parameter| ffi(parameter["type"]) }
    put("C.attach_function :#{function["name"]}, [#{types.join(", ")}], #{ffi(function["returns"])}")
  end

  # A library of another interface, or a layout that this machine makes otherwise, is an error when it is loaded.
  def check
    put(%(raise LoadError, "this is made for another libholdoff" if C.holdoff_abi != #{@interface["abi"]}))
    sizes = @structs.values.reject { |one| opaque?(one["name"]) }
    put("[#{sizes.map { |one| class_of(one["name"]) }.join(", ")}].zip(%w[#{sizes.map { |one| one["name"] }.join(" ")}]) do |type, name|")
    put(%(raise LoadError, "\#{name} has \#{C.holdoff_sizeof(name)} bytes" if type.size != C.holdoff_sizeof(name)), 2)
    put("end")
  end

  # The struct whose method a function is.
  def receiver(function)
    first = function["parameters"].first or return
    name = struct_of(first["type"])
    name if name && function["name"].start_with?("#{name}_")
  end

  def reopen(name, functions)
    put("")
    put("class #{class_of(name)}")
    if opaque?(name)
      put("def self.release(pointer) = C.#{name}_free(pointer)", 2)
      put("def self.create = new(C.#{name}_new)", 2)
      functions = functions.reject { |function| function["name"] == "#{name}_free" }
    end
    functions.each { |function| define(function, function["name"].delete_prefix("#{name}_"), 2) }
    put("end")
  end

  # A method: its parameters, the memory for its answers, the call, and the answers.
  def define(function, name, depth = 1)
    plan = Plan.new(self, function, name.start_with?("self.") ? nil : receiver(function))
    put("")
    document(function["doc"], depth)
    put("def #{name}#{"(#{plan.parameters.join(", ")})" unless plan.parameters.empty?}", depth)
    plan.body.each { |line| put(line, depth + 1) }
    put("end", depth)
  end

  public :struct_of, :class_of, :ffi, :pointer?
end

# The way from a method of Ruby to a function of C and back.
class Plan
  attr_reader :parameters

  def initialize(generator, function, receiver)
    @generator = generator
    @function = function
    @parameters, @memory, @arguments, @answers = [], [], [], []
    @writes_text = false
    left = function["parameters"].dup
    if receiver
      left.shift
      @arguments << "self"
    end
    take(left.shift, left) until left.empty?
  end

  def body
    call = "C.#{@function["name"]}(#{@arguments.join(", ")})"
    after = errors + [answer]
    return @memory + [call] if after == ["result"]

    call = "result = #{call}" if after.any? { |line| line.include?("result") }
    @memory + [call] + after
  end

  private

  def take(parameter, left)
    type, name = parameter["type"], safe(parameter["name"])
    following = left.first && left.first["type"] == "size_t"
    if type == "holdoff_problem *" then problem
    elsif type == "const char *" && following && left.first["name"] == "length"
      string(name, left.shift)
    elsif name == "words" || KEEPING.include?(@function["name"]) || !answers?(type)
      @parameters << name
      @arguments << name
    elsif type == "char *" then buffer(name, left.shift)
    else out(type, name)
    end
  end

  def answers?(type)
    return false if type.include?("(*)") # a function of the caller's

    @generator.pointer?(type) && !type.start_with?("const ") && type != "void *" || type == "const char **"
  end

  def safe(name) = KEYWORDS.include?(name) ? "#{name}_" : name

  def problem
    @problem = true
    @memory << "problem = Problem.new"
    @arguments << "problem"
  end

  def string(name, _length)
    @parameters << name
    @arguments.push(name, "#{name}&.bytesize || 0")
  end

  def buffer(name, _size)
    @writes_text = true
    @memory << "#{name} = FFI::MemoryPointer.new(:char, TEXT)"
    @arguments.push(name, "TEXT")
    counted = @function["returns"] == "size_t"
    @answers << (counted ? "#{name}.read_bytes(result)" : %(#{name}.read_string.force_encoding("UTF-8")))
  end

  def out(type, name)
    struct = @generator.struct_of(type)
    kind = @generator.ffi(type.delete_suffix("*").strip).sub(":string", ":pointer") unless struct
    @memory << "#{name} = #{struct ? "#{@generator.class_of(struct)}.new" : "FFI::MemoryPointer.new(#{kind})"}"
    @arguments << name
    @answers << (struct ? name : "#{name}.read(#{kind})")
  end

  def errors
    return ["raise Error.new(problem.code, problem) if problem.code != OK"] if @problem
    return ["raise Error, result if result != OK"] if status?

    []
  end

  # An int says how it went, unless it counts the bytes of a text.
  def status? = @function["returns"] == "int" && !@writes_text

  def answer
    answers = @answers.dup
    answers.unshift("result") unless %w[int size_t void].include?(@function["returns"]) && (status? || @writes_text)
    case answers.length
    when 0 then @arguments.first == "self" ? "self" : "nil"
    when 1 then answers.first
    else "[#{answers.join(", ")}]"
    end
  end
end

puts Generator.new(JSON.parse(File.read(ARGV.fetch(0)))).text
