package recipe

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
)

// Op is a kind of step.
type Op struct {
	Name  string
	Doc   string // a sentence, in which 'code' is in quotes, as in More and in the docs of arguments
	Place Place
	New   func() Args // arguments in which nothing is given

	More    string   // paragraphs of what else there is to know; may be empty
	Example []string // Python; none: the method with the examples of required arguments

	// Call is how the arguments of the Python method begin: "size, max_size, *, filter";
	// by default with those that are required, or else the first.
	Call string

	Beginning *Beginning // of a training on files that it decodes; nil: it decodes none

	// Others are calls of other libraries that do the same, as Python. With the name of
	// the step they are calls of its method, but for the image of a function.
	Others []string
	Told   []string // names of the values that it tells of its random draws
}

// NewOp is an operation with arguments of the type T.
func NewOp[T any, P interface {
	*T
	Args
}](name string, place Place, doc string) Op {
	return Op{Name: name, Doc: doc, Place: place, New: func() Args { return P(new(T)) }}
}

// Explained returns the operation with text and lines of Python that explain it.
func (o Op) Explained(text string, example ...string) Op {
	o.More, o.Example = strings.TrimSpace(text), example
	return o
}

// Paragraphs returns More in its parts; one of items has a line for each, which begins
// with a dash.
func (o Op) Paragraphs() []string {
	if o.More == "" {
		return nil
	}
	return strings.Split(o.More, "\n\n")
}

// Called returns the operation with the first arguments of its Python method.
func (o Op) Called(call string) Op {
	o.Call = call
	return o
}

// Replacing returns the operation with calls of other libraries that do the same.
func (o Op) Replacing(calls ...string) Op {
	o.Others = calls
	return o
}

// Telling returns the operation with the names of the values that it tells of its
// random draws.
func (o Op) Telling(values ...string) Op {
	o.Told = values
	return o
}

// Place says where in a recipe an operation may be.
type Place uint8

// The places.
const (
	Between  Place = iota // it takes samples and gives samples
	Source                // it takes nothing and begins the recipe, or a chain that merge holds
	Ordering              // it says in which order the source gives its samples, and follows it directly
	Batching              // it makes batches
)

// Argument describes an argument for people: in help texts and schemas.
type Argument struct {
	Name  string
	Doc   string
	Takes string // what it is written as: "a whole number"

	Required bool
	Choices  []string        // what it takes, where that is one of a few
	Default  json.RawMessage // nil: there is none, or it is said in Doc
}

// Arguments returns the arguments of the operation.
func (o Op) Arguments() []Argument {
	var all []Argument
	usual := o.usual()
	for _, f := range argument.FieldsOf(o.New()) {
		a := Argument{Name: argument.Name(f), Doc: f.Tag.Get("doc"), Takes: argument.Takes(f.Type), Required: argument.Required(f)}
		if words := f.Tag.Get("choices"); words != "" {
			a.Choices = strings.Split(words, ",")
		}
		a.Default = usual[a.Name]
		all = append(all, a)
	}
	return all
}

// usual returns the defaults, as JSON has them.
func (o Op) usual() (all map[string]json.RawMessage) {
	if b, err := json.Marshal(Completed(o.New())); err == nil {
		_ = json.Unmarshal(b, &all)
	}
	return all
}

// registry holds all operations, in the order in which help shows them: those of
// package op, and then those that programs have registered.
var registry struct {
	sync.RWMutex
	ops []Op
}

// besides are the keys that a step may have besides its operation.
var besides = []string{"name", "failures"}

// Register adds an operation, so that recipes can name it.
func Register(op Op) error {
	registry.Lock()
	defer registry.Unlock()

	args := argument.Struct(op.New())
	t := reflect.TypeOf(args)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("recipe: operation %q: its arguments are %T: must be a pointer to a struct", op.Name, args)
	}
	if err := checkName(op.Name); err != nil {
		return fmt.Errorf("recipe: operation %q: its name %w", op.Name, err)
	}

	// A step would not say which of the two is meant.
	if slices.Contains(besides, op.Name) {
		return fmt.Errorf("recipe: operation %q: its name is a key that steps have beside their operation", op.Name)
	}
	for _, o := range registry.ops {
		if o.Name == op.Name {
			return fmt.Errorf("recipe: there is an operation %q already", op.Name)
		}
		if reflect.TypeOf(argument.Struct(o.New())) == t {
			return fmt.Errorf("recipe: operation %q: its arguments %T belong to %q already", op.Name, args, o.Name)
		}
	}
	registry.ops = append(registry.ops, op)
	return nil
}

// Ops returns all operations.
func Ops() []Op {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.ops)
}

// Find returns the operation of a name.
func Find(name string) (Op, bool) {
	return find(func(o Op) bool { return o.Name == name })
}

// FindArgs returns the operation that has arguments of this type.
func FindArgs(args Args) (Op, bool) {
	return find(func(o Op) bool {
		return reflect.TypeOf(argument.Struct(o.New())) == reflect.TypeOf(argument.Struct(args))
	})
}

func find(is func(Op) bool) (Op, bool) {
	ops := Ops()
	if i := slices.IndexFunc(ops, is); i >= 0 {
		return ops[i], true
	}
	return Op{}, false
}

func names() []string {
	var all []string
	for _, o := range Ops() {
		all = append(all, o.Name)
	}
	return all
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("is %q: must be letters, digits, and _ . - after the first letter", name)
	}
	return nil
}

func unknownOp(name string) error {
	hint := "there are " + words.List(names())
	if near := words.Nearest(name, names()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("there is no operation %q: %s", name, hint)
}
