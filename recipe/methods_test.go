package recipe_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/recipe"
)

// Python has a method for each operation, and lists of them, which are made of what they
// say about themselves.
func TestPythonMethods(t *testing.T) {
	for path, want := range pythonModules() {
		path = "../python/src/headrace/" + path
		if got, err := os.ReadFile(path); err == nil && string(got) == want {
			continue
		}
		if !*rewrite {
			t.Errorf("%s is not made of the operations as they are: go test ./recipe -run Methods -rewrite writes it", path)
		} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// byHand are the operations whose arguments in Python are not those of a recipe, such as
// functions, pipelines and any number of names: pipeline.py has them.
var byHand = []string{
	"files", "read", "source", "merge", "mix", "sampler", "route", "decode_npz", "map", "rename", "batch", "bucket_batch", "split",
}

// spelling says how Python writes an argument.
type spelling struct {
	hint  string
	turn  string // makes of the argument %[1]s what a recipe has; "": it is that already
	none  bool   // turn takes None as well
	usual string // the default in the signature; "": None, unless the argument is required
	many  bool   // any number may be given, without names
	doc   string // instead of the text about what a recipe has
}

// spellings of types. Text, and what has choices, is in a recipe as in Python.
var spellings = map[string]spelling{
	"bool":             {hint: "bool", usual: "False"},
	"*bool":            {hint: "bool"},
	"string":           {hint: "str"},
	"*float64":         {hint: "float", turn: "number_of(%[1]q, %[1]s)"},
	"*[2]float64":      {hint: "tuple[float, float]", turn: "range_of(%[1]q, %[1]s)", none: true},
	"*[3]int":          {hint: "Sequence[int]", turn: "integers(%[1]q, %[1]s)"},
	"[]int":            {hint: "int | Sequence[int]", turn: "integer_list(%[1]q, %[1]s)"},
	"[]string":         {hint: "Some", turn: "names_of(%[2]q, (%[1]s,))"},
	"recipe.Size":      {hint: "Size", turn: "size_of(%[1]s)"},
	"[]recipe.Size":    {hint: "Iterable[Size]", turn: "[size_of(size) for size in %[1]s]"},
	"image.Fill":       {hint: "int | Sequence[int]", turn: "integers(%[1]q, %[1]s)"},
	"*image.Padding":   {hint: "int | Sequence[int]", turn: "integers(%[1]q, %[1]s)"},
	"image.Degrees":    {hint: "Range", turn: "numbers_of(%[1]q, %[1]s)"},
	"image.Pair":       {hint: "float | tuple[float, float]", turn: "numbers_of(%[1]q, %[1]s)"},
	"image.Shear":      {hint: "float | Sequence[float]", turn: "numbers_of(%[1]q, %[1]s)"},
	"image.Corners":    {hint: "Sequence[Sequence[float]]", turn: "[numbers_of(%[1]q, at) for at in %[1]s]"},
	"image.Range":      {hint: "Range", turn: "numbers_of(%[1]q, %[1]s)"},
	"recipe.Chain":     {hint: "Changes", turn: "self._changes(%[1]q, %[1]s)"},
	"sound.Range":      {hint: "Range", turn: "numbers_of(%[1]q, %[1]s)"},
	"recipe.Path":      {hint: "str | PathLike[str]", turn: "absolute(%[1]q, %[1]s)", none: true},
	"image.WholeRange": {hint: "int | tuple[int, int] | list[int]", turn: "integers(%[1]q, %[1]s)"},
	"image.Paint": {hint: `int | Sequence[int] | Literal["random"]`,
		turn: "%[1]s if isinstance(%[1]s, str) else integers(%[1]q, %[1]s)"},
	"column.Numbers":    {hint: "float | Sequence[float]", turn: "numbers_of(%[1]q, %[1]s)"},
	"[]float64":         {hint: "Sequence[float]", turn: "numbers_of(%[1]q, %[1]s)"},
	"image.Channels":    {hint: "float | Sequence[float]", turn: "numbers_of(%[1]q, %[1]s)"},
	"recipe.Extents":    {hint: "Sequence[int | None]", turn: "[optional(\"shape\", n) for n in %[1]s]"},
	"recipe.RowLengths": {hint: "int | Mapping[str, int]", turn: "lengths_of(%[1]q, %[1]s)"},
	"recipe.PadValue":   {hint: "float | Mapping[str, float]", turn: "numbers_for(%[1]q, %[1]s)", usual: "0"},
	"a whole number":    {hint: "int", turn: "optional(%[1]q, %[1]s)", none: true},
	"one that must be":  {hint: "int", turn: "integer(%[1]q, %[1]s)"},
	"seconds":           {hint: "float", turn: "seconds_of(%[1]q, %[1]s)", none: true},
	"options":           {hint: "Mapping[str, Any] | str", turn: "option_text(%[1]q, %[1]s)"},
	"a dtype":           {hint: "Any", turn: "dtype_name(%[1]s)"},
}

// exceptions are arguments that Python writes in another way than their types.
var exceptions = map[string]spelling{
	"select.fields":         {hint: "Some", turn: `names_of("select", fields)`, many: true},
	"drop.fields":           {hint: "Some", turn: `names_of("drop", fields)`, many: true},
	"copy.field":            {hint: "str", turn: `name_of("copy", field)`},
	"weighted.weights":      {hint: "Iterable[float]", turn: "weights_of(weights)"},
	"weighted.draws":        {hint: "int", turn: `at_least_one("draws", draws)`, none: true},
	"weighted.replacement":  {hint: "bool", turn: `truth("replacement", replacement)`, usual: "True"},
	"boxes.field":           {hint: "str", usual: `"boxes"`},
	"boxes.image":           {hint: "str", usual: `"image"`},
	"points.field":          {hint: "str", usual: `"points"`},
	"points.image":          {hint: "str", usual: `"image"`},
	"decode_audio.channels": {hint: `int | Literal["mono"]`, turn: `1 if channels == "mono" else optional("channels", channels)`, none: true},
}

// ofCalls are the arguments of steps that call a function, by names or by those of the
// methods with them. What a recipe has in their place is made by function_arguments.
var ofCalls = map[string]spelling{
	"filter.function":    {hint: "Callable[..., Any]", doc: "as for map, but it returns True or False"},
	"flat_map.function":  {hint: "Callable[..., Any]", doc: "as for map, but it yields samples, or with 'fields' values, or returns a list of these"},
	"aggregate.function": {hint: "Any", doc: "a class with these methods and without '__init__' arguments, or an object, which is copied for each epoch"},
	"aggregate.fields":   {hint: "Some", doc: "fields passed to 'accumulate' as positional arguments; by default the whole sample"},
	"aggregate.where": {hint: `Literal["process", "thread", "here"]`, usual: "USUAL",
		doc: "as for map, but it is neither hr.Workers nor an executor"},
	"aggregate.gives": {hint: "Any", doc: "the fields it returns, as for map; by default the first sample decides"},
	"fields":          {hint: "Some", doc: "as for map"},
	"to":              {hint: "Some", doc: "as for map"},
	"gives":           {hint: "Any", doc: "as for map"},
	"workers":         {hint: "int", doc: "as for map"},
	"where":           {hint: "Where", usual: "USUAL", doc: "as for map"},
	"order":           {hint: `Literal["input", "completion"]`, doc: "as for map"},
	"seed":            {hint: "Seeds", usual: "()", doc: "as for map"},
	"copy":            {hint: "bool", usual: "False", doc: "as for map"},
}

// renamed are arguments that have other names in Python.
var renamed = map[string]string{"aggregate.function": "aggregator"}

// anotherWay is the end of the text of an argument that Python writes as another one: a
// second, or the name of a field, instead of a word.
var anotherWay = regexp.MustCompile(`, instead of (\w+)$`)

// aliasOf returns a name for the choices of an argument that several methods have; "":
// there is none.
func aliasOf(a recipe.Argument) string {
	switch {
	case a.Name == "filter" && len(a.Choices) == 3:
		return "WarpFilter"
	case a.Name == "filter":
		return "Filter"
	case a.Name == "anchor":
		return "Anchor"
	}
	return ""
}

// Spelt as a tuple, where a recipe has a list.
var tuples = []string{
	"recipe.Size", "[]recipe.Size", "*[2]float64", "*[3]int", "*image.Padding", "image.Range", "image.WholeRange", "sound.Range",
}

// parameter is an argument of a method.
type parameter struct {
	recipe.Argument
	spelling
	tuple bool   // Python has a tuple for a list
	usual string // by the tag default, as JSON or as text
	also  []string
}

// method is one of Python.
type method struct {
	recipe.Op
	positional, named []parameter
	image             bool
	calls             string // the function that checks and describes those of a call; "": it is none
}

func pythonModules() map[string]string {
	var images, named, bodies []string
	seen := map[string]string{}
	for _, op := range recipetest.Ops() {
		if slices.Contains(byHand, op.Name) {
			continue
		}
		m := methodOf(op)
		if m.image {
			images = append(images, fmt.Sprintf("    %q,\n", op.Name))
		}
		for _, p := range m.parameters() {
			line := fmt.Sprintf("    %s = %s\n", aliasOf(p.Argument), literal(p.Choices))
			if aliasOf(p.Argument) == p.hint && !slices.Contains(named, line) {
				named = append(named, line)
			}
		}
		bodies = append(bodies, m.text(seen))
	}

	text := strings.Join(bodies, "\n")
	var imports []string
	for name := range strings.FieldsSeq(converters) {
		if regexp.MustCompile(`\b` + name + `\(`).MatchString(text) {
			imports = append(imports, "    "+name+",\n")
		}
	}
	return map[string]string{
		"_operations.py": fmt.Sprintf(moduleForm, strings.Join(imports, ""), strings.Join(named, ""), text),
		"_steps.py":      fmt.Sprintf(listsForm, strings.Join(images, ""), others()),
	}
}

// others are the calls of other libraries, by their names.
func others() string {
	var b strings.Builder
	for _, op := range recipetest.Ops() {
		for i, call := range op.Others {
			if name := strings.TrimPrefix(call[:strings.Index(call, "(")], "functional."); i == 0 {
				fmt.Fprintf(&b, "    %q: %q,\n", name, instead(op, call))
			}
		}
	}
	return b.String()
}

// converters are what the methods may need of arguments.py.
const converters = "absolute at_least_one dtype_name integer integer_list integers lengths_of name_of names_of number_of" +
	" numbers_for numbers_of option_text optional range_of seconds_of size_of start_of truth weights_of"

const moduleForm = `"""The methods of pipelines whose arguments are those of a recipe.

Made of the descriptions of operations, in Go, by ` + "`go test ./recipe -run Methods -rewrite`" + `: do not edit.
"""

from __future__ import annotations

from ._recipe.arguments import (
%[1]s)
from ._recipe.functions import USUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor
    from os import PathLike
    from typing import Any, Literal

    from ._recipe.workers import Workers
    from .pipeline import Pipeline

    Some = str | Iterable[str]
    Size = int | tuple[int, int] | list[int]
    Changes = Callable[[Pipeline], Pipeline] | Sequence[Callable[[Pipeline], Pipeline] | Mapping[str, Any] | str]
    Range = float | tuple[float, float] | list[float]
    Seeds = Iterable[Literal["random", "numpy", "torch"]]
    Where = Literal["process", "thread", "here"] | Workers | Executor
%[2]s

class Operations:
    """What a pipeline inherits."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _with(self, op: str, args: dict[str, Any]) -> Pipeline: ...
        def _image(self, op: str, field: str | None, fields: Some | None, args: dict[str, Any]) -> Pipeline: ...
        def _changes(self, op: str, steps: Changes) -> list[Any]: ...

%[3]s`

// listsForm is a module of its own: messages have them without pipelines.
const listsForm = `"""Lists of steps.

Made of the descriptions of operations, in Go, by ` + "`go test ./recipe -run Methods -rewrite`" + `: do not edit.
"""

# The steps on an image, which can be those of a view.
ON_IMAGES = {
%s}

# What to write instead of transforms of other libraries.
INSTEAD = {
%s}
`

// methodOf reads the arguments of an operation.
func methodOf(op recipe.Op) method {
	m := method{Op: op}
	var all []parameter
	fields := argument.FieldsOf(op.New())
	for i, a := range op.Arguments() {
		if whole := anotherWay.FindStringSubmatch(a.Doc); whole != nil {
			at := slices.IndexFunc(all, func(p parameter) bool { return p.Name == whole[1] })
			all[at].orElse(strings.TrimSuffix(a.Doc, whole[0]), fields[i].Type.Kind() == reflect.String)
			continue
		}
		all = append(all, parameterOf(op.Name, a, fields[i]))
	}

	// What is said of the call comes first, and the names of fields last.
	call := op.Call
	if call == "" {
		call = usualCall(all)
	}
	before, after, _ := strings.Cut(call, "*")
	for i, part := range []string{before, after} {
		for name := range strings.SplitSeq(part, ",") {
			at := slices.IndexFunc(all, func(p parameter) bool { return p.Name == strings.TrimSpace(name) })
			if at < 0 {
				continue
			}
			p := all[at]
			all = slices.Delete(all, at, at+1)
			if i == 0 {
				m.positional = append(m.positional, p.first())
			} else {
				m.named = append(m.named, p)
			}
		}
	}
	last := func(p parameter) bool { return p.Name == "field" || p.Name == "to" || p.Name == "fields" }
	m.named = append(m.named, slices.DeleteFunc(slices.Clone(all), last)...)
	m.named = append(m.named, slices.DeleteFunc(all, func(p parameter) bool { return !last(p) })...)
	_, m.image = op.New().(recipe.Transform)
	return m.calling()
}

// calling is the method, as one of a step that calls a function where it is.
func (m method) calling() method {
	call := recipe.TraitsOf(m.New()).Call
	if call == nil {
		return m
	}
	m.calls = "function_arguments"
	if call.Kind == recipe.AggregateCall {
		m.calls = "aggregate_arguments"
	}
	for _, all := range [][]parameter{m.positional, m.named} {
		for i := range all {
			p := &all[i]
			own, ok := ofCalls[m.Name+"."+p.Name]
			if !ok {
				own = ofCalls[p.Name]
			}
			p.spelling, p.usual, p.Choices = own, "", nil
			p.Doc = own.doc
			if name := renamed[m.Name+"."+p.Name]; name != "" {
				p.Name = name
			}
		}
	}
	return m
}

func usualCall(all []parameter) string {
	var names []string
	for _, p := range all {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	if names == nil && len(all) > 0 {
		return all[0].Name
	}
	return strings.Join(names, ",")
}

func parameterOf(op string, a recipe.Argument, f reflect.StructField) parameter {
	p := parameter{Argument: a, tuple: slices.Contains(tuples, f.Type.String()), usual: f.Tag.Get("default")}
	own, excepted := exceptions[op+"."+a.Name]
	kind := strings.TrimPrefix(f.Type.String(), "*")
	if name := f.Tag.Get("python"); name != "" {
		own, excepted = spellings[name]
	}
	switch {
	case excepted:
		p.spelling = own
	case f.Tag.Get("unit") == "seconds":
		p.spelling = spellings["seconds"]
	case (kind == "int" || kind == "int64" || kind == "uint64") && a.Required:
		p.spelling = spellings["one that must be"]
	case kind == "int" || kind == "int64" || kind == "uint64":
		p.spelling = spellings["a whole number"]
	default:
		known, ok := spellings[f.Type.String()]
		if !ok && ofCalls[a.Name].hint == "" {
			panic(fmt.Sprintf("%s.%s: Python has no spelling of %v", op, a.Name, f.Type))
		}
		p.spelling = known
	}
	if len(a.Choices) > 1 && !excepted {
		p.hint = literal(a.Choices)
		if alias := aliasOf(a); alias != "" {
			p.hint = alias
		}
	}
	return p
}

// orElse has a parameter of some words take a second as well, or the name of a field.
func (p *parameter) orElse(doc string, field bool) {
	p.also = append(p.also, doc)
	p.hint, p.turn, p.none = "float | "+literal(p.Choices), "**start_of(%[1]s)", true
	if field {
		words := strings.TrimPrefix(literal(p.Choices), "Literal[")
		p.hint, p.turn = "float | str", "**start_of(%[1]s, ("+strings.TrimSuffix(words, "]")+"))"
	}
}

// first is a parameter that may be given without its name: numbers have their defaults in
// the signature then.
func (p parameter) first() parameter {
	var number float64
	if p.spelling.usual != "" || json.Unmarshal([]byte(p.usual), &number) != nil {
		return p
	}
	p.spelling.usual = p.usual
	if p.hint == "float" && !strings.Contains(p.usual, ".") {
		p.spelling.usual += ".0"
	}
	if p.turn == spellings["a whole number"].turn {
		p.turn = spellings["one that must be"].turn
	}
	return p
}

// literal is the type of some words or numbers.
func literal(choices []string) string {
	var all []string
	for _, c := range choices {
		all = append(all, value(c))
	}
	return "Literal[" + strings.Join(all, ", ") + "]"
}

// value is what a tag has, in Python.
func value(tag string) string {
	var v any
	if json.Unmarshal([]byte(tag), &v) != nil {
		return fmt.Sprintf("%q", tag)
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{false: "False", true: "True"}[v]
	case []any:
		var all []string
		for _, x := range v {
			one, _ := json.Marshal(x)
			all = append(all, value(string(one)))
		}
		return "(" + strings.Join(all, ", ") + map[bool]string{true: ",)", false: ")"}[len(all) == 1]
	}
	return tag
}

func (m method) parameters() []parameter { return slices.Concat(m.positional, m.named) }

// text is the method. Seen has long texts of arguments, by the methods that have them.
func (m method) text(seen map[string]string) string {
	var b strings.Builder
	b.WriteString(m.head())
	b.WriteString(m.docstring(seen))
	if m.calls != "" {
		b.WriteString(m.called())
		return b.String()
	}
	var args []string
	for _, p := range m.parameters() {
		if m.image && (p.Name == "field" || p.Name == "fields") {
			continue
		}
		args = append(args, p.argument(m.Name))
	}

	call := fmt.Sprintf("        return self._with(%q, ", m.Name)
	if m.image {
		call = fmt.Sprintf("        return self._image(%q, field, fields, ", m.Name)
	}
	if line := call + "{" + strings.Join(args, ", ") + "})\n"; width(line) <= 140 {
		b.WriteString(line)
	} else {
		b.WriteString("        args = {\n            " + strings.Join(args, ",\n            ") + ",\n        }\n" + call + "args)\n")
	}
	return b.String()
}

// called is what a method with a function does.
func (m method) called() string {
	args := []string{strconv.Quote(m.Name)}
	if m.calls == "aggregate_arguments" {
		args = nil
	}
	for _, p := range m.positional {
		args = append(args, p.Name)
	}
	for _, p := range m.named {
		args = append(args, p.Name+"="+p.Name)
	}
	begin := fmt.Sprintf("        from ._recipe.function_arguments import %[1]s\n\n        given = %[1]s(\n            ", m.calls)
	return begin + strings.Join(args, ",\n            ") + ",\n        )\n" + fmt.Sprintf("        return self._with(%q, given)\n", m.Name)
}

// argument is an item of the dict that is the step.
func (p parameter) argument(op string) string {
	turned := p.Name
	if p.turn != "" {
		turned = strings.NewReplacer("%[1]s", p.Name, "%[1]q", `"`+p.Name+`"`, "%[2]q", `"`+op+`"`).Replace(p.turn)
	}
	switch {
	case strings.HasPrefix(turned, "**"):
		return turned
	case p.turn != "" && !p.none && !p.Required && p.spelling.usual == "":
		turned = fmt.Sprintf("None if %s is None else %s", p.Name, turned)
	}
	return fmt.Sprintf("%q: %s", p.Name, turned)
}

func (m method) head() string {
	all := []string{"self"}
	for _, p := range m.positional {
		all = append(all, p.declared())
	}
	if len(m.named) > 0 && !(len(m.positional) > 0 && m.positional[len(m.positional)-1].many) {
		all = append(all, "*")
	}
	for _, p := range m.named {
		all = append(all, p.declared())
	}
	if line := fmt.Sprintf("    def %s(%s) -> Pipeline:\n", m.Name, strings.Join(all, ", ")); width(line) <= 140 {
		return line
	}
	return fmt.Sprintf("    def %s(\n        %s,\n    ) -> Pipeline:\n", m.Name, strings.Join(all, ",\n        "))
}

func (p parameter) declared() string {
	switch {
	case p.many:
		return fmt.Sprintf("*%s: %s", p.Name, p.hint)
	case p.spelling.usual != "":
		return fmt.Sprintf("%s: %s = %s", p.Name, p.hint, p.spelling.usual)
	case p.Required:
		return fmt.Sprintf("%s: %s", p.Name, p.hint)
	case p.hint == "Any":
		return fmt.Sprintf("%s: Any = None", p.Name)
	}
	return fmt.Sprintf("%s: %s | None = None", p.Name, p.hint)
}

func (m method) docstring(seen map[string]string) string {
	var words []string // those that are values
	for _, a := range m.Arguments() {
		words = append(words, a.Choices...)
	}

	blocks := []string{wrapped(`        """`+coded(m.Doc, words), "        ")}
	example := ""
	for _, line := range m.examples() {
		example += strings.TrimRight("            "+line, " ") + "\n"
	}
	blocks = append(blocks, example)
	for _, paragraph := range m.Paragraphs() {
		blocks = append(blocks, listed(coded(paragraph, words)))
	}

	args := "        Args:\n"
	for _, p := range m.parameters() {
		args += wrapped(fmt.Sprintf("            %s: %s.", p.Name, p.explained(m.Name, words, seen)), "                ")
	}
	if len(m.parameters()) > 0 {
		blocks = append(blocks, args)
	}
	return strings.Join(blocks, "\n") + "        \"\"\"\n"
}

func (m method) examples() []string {
	if m.Example != nil {
		return strings.Split(strings.Join(m.Example, "\n"), "\n")
	}
	var given []string
	for _, f := range argument.FieldsOf(m.New()) {
		if argument.Required(f) {
			given = append(given, value(f.Tag.Get("example")))
		}
	}
	return []string{fmt.Sprintf(".%s(%s)", m.Name, strings.Join(given, ", "))}
}
