package recipe

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"headrace/sample"
)

// Check returns every mistake in r, joined, each an [*Error]; and, where there is none, the schema of what the last step gives: of a row, if
// that is a batch.
func (r Recipe) Check() (sample.Schema, error) {
	all, err := r.Schemas()
	if err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

// Schemas returns the schema of what each step gives, in their order, and every mistake as [Recipe.Check] does. Where one of them hides what a step
// gives, its schema is nil.
func (r Recipe) Schemas() ([]sample.Schema, error) {
	c := checker{steps: r.Complete().Steps}
	c.names()
	c.follow()
	c.readers()
	return c.schemas, errors.Join(c.errs...)
}

type checker struct {
	steps   []Step
	schemas []sample.Schema // of the steps' outputs; nil: not known, because of a mistake
	ops     []Op
	errs    []error
}

// wrong records what is wrong with step i, counted from 0.
func (c *checker) wrong(i int, path, format string, args ...any) {
	c.errs = append(c.errs, &Error{Step: i + 1, Name: c.steps[i].Name, Path: path, Err: fmt.Errorf(format, args...)})
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("is %q: takes letters, digits, and _ . - after the first letter", name)
	}
	return nil
}

func (c *checker) names() {
	if len(c.steps) == 0 {
		c.errs = append(c.errs, &Error{Err: errors.New("has no steps: it begins with a source such as files")})
	}
	for i, s := range c.steps {
		if err := checkName(s.Name); err != nil && s.Name != s.Op { // unknown operations are found later
			c.wrong(i, "name", "%w", err)
		}
		if first := c.find(s.Name); first != i {
			c.wrong(i, "name", "is that of step #%d too", first+1)
		}
	}
}

// find returns the first step of a name.
func (c *checker) find(name string) int {
	return slices.IndexFunc(c.steps, func(s Step) bool { return s.Name == name })
}

// follow goes along the edges. After a mistake it goes on with what would come out but for it, so
// that one attempt shows all of them.
func (c *checker) follow() {
	c.schemas, c.ops = make([]sample.Schema, len(c.steps)), make([]Op, len(c.steps))
	for i, s := range c.steps {
		if c.ops[i] = c.op(i); c.ops[i].Name == "" {
			continue
		}
		in, ok := c.input(i)
		if !ok {
			continue
		}
		out, err := c.check(i, in)
		if err != nil {
			c.errs = append(c.errs, place(i+1, s.Name, err)...)
		}
		c.schemas[i] = out
	}
}

func (c *checker) check(i int, in sample.Schema) (sample.Schema, error) {
	if b, ok := c.steps[i].Args.(*Batch); ok {
		return b.checkAfter(in, c.steps[:i])
	}
	return c.steps[i].Args.Check(in)
}

// op returns the operation of step i, whose arguments are of its type.
func (c *checker) op(i int) Op {
	s := c.steps[i]
	op, ok := Find(s.Op)
	switch {
	case s.Op == "":
		c.wrong(i, "", "has no operation")
		return Op{}
	case !ok:
		c.wrong(i, "op", "%w", unknownOp(s.Op))
		return Op{}
	case reflect.TypeOf(fieldsOf(s.Args)) != reflect.TypeOf(fieldsOf(op.New())):
		c.wrong(i, "args", "has arguments of the type %T: takes %T", fieldsOf(s.Args), fieldsOf(op.New()))
		return Op{}
	}
	return op
}

// input returns the schema of what step i reads. It is not ok where that is not known, for a mistake that has been recorded.
func (c *checker) input(i int) (in sample.Schema, ok bool) {
	s := c.steps[i]
	switch place := c.ops[i].Place; {
	case place == Source && i > 0 && s.From == nil:
		c.wrong(i, "", "is a source and can only begin a recipe")
		return nil, true
	case place == Source && len(s.From) > 0:
		c.wrong(i, "from", "is %q: a source reads no other step", s.From)
		return nil, true
	case place == Source:
		return nil, true
	case i == 0 && s.From == nil:
		c.wrong(i, "", "has nothing to read: a recipe begins with a source such as files")
		return nil, false
	}
	from, ok := c.from(i)
	if !ok {
		return nil, false
	}
	c.order(i, from)
	return c.schemas[from], c.schemas[from] != nil
}

// from returns the one step that step i reads.
func (c *checker) from(i int) (int, bool) {
	s := c.steps[i]
	if s.From == nil {
		return i - 1, true
	}
	if len(s.From) != 1 {
		c.wrong(i, "from", "is %q: %s reads one step", s.From, s.Op)
		return 0, false
	}
	from := c.find(s.From[0])
	switch {
	case from < 0:
		c.wrong(i, "from", "is %q: there is no step of this name%s", s.From[0], c.hint(s.From[0], i))
	case from >= i:
		c.wrong(i, "from", "is %q, which does not come before it", s.From[0])
	default:
		return from, true
	}
	return 0, false
}

func (c *checker) hint(name string, before int) string {
	var known []string
	for _, s := range c.steps[:before] {
		known = append(known, s.Name)
	}
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// order checks what may follow what.
func (c *checker) order(i, from int) {
	before := c.steps[from]
	switch {
	case c.ops[from].Place == Batching:
		c.wrong(i, "", "comes after %q, which makes batches: that has to be the last step", before.Name)
	case c.ops[i].Place == Ordering && c.ops[from].Place != Source:
		c.wrong(i, "", "comes after %q: it has to follow the source directly, since it says in which order the source is read; no sample waits to be mixed with others", before.Name)
	}
}

// readers checks that what each step gives is read, and once.
func (c *checker) readers() {
	readers := make(map[int][]string)
	for i, s := range c.steps {
		if c.ops[i].Place == Source || i == 0 {
			continue
		}
		from := i - 1
		if len(s.From) == 1 {
			// Where it is wrong, which was found already, the step before counts as read.
			if f := c.find(s.From[0]); f >= 0 && f < i {
				from = f
			}
		}
		readers[from] = append(readers[from], s.Name)
	}
	for i := range c.steps {
		switch {
		case len(readers[i]) > 1:
			c.wrong(i, "", "is read by several steps: %s", list(readers[i]))
		case len(readers[i]) == 0 && i < len(c.steps)-1 && c.ops[i+1].Place != Source:
			c.wrong(i, "", "is read by no step")
		}
	}
}
