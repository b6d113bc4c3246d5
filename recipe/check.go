package recipe

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/sample"
)

// Check returns every mistake in r, joined, each an [*Error]; and, where there is none,
// the schema of what the last step gives: of a row, if that is a batch.
func (r Recipe) Check() (sample.Schema, error) {
	_, out, err := r.follow()
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Schemas returns the schema of what each step gives, in the order of [Recipe.All], and
// every mistake as [Recipe.Check] does. Where one of them hides what a step gives, its
// schema is nil.
func (r Recipe) Schemas() ([]sample.Schema, error) {
	all, _, err := r.follow()
	return all, err
}

func (r Recipe) follow() (all []sample.Schema, out sample.Schema, err error) {
	r = r.Complete()
	c := newChecker(r.Steps)
	c.names()
	if depth(r.Steps) > maxDepth {
		c.errs = append(c.errs, &Error{Err: fmt.Errorf("is nested more than %d deep", maxDepth)})
		return c.schemas(), nil, errors.Join(c.errs...)
	}
	out, _ = c.chain(r.Steps, Surroundings{Begins: true}, nil)
	return c.schemas(), out, errors.Join(c.errs...)
}

// CheckNested checks an operation and what is in it, apart from a recipe.
func CheckNested(args Args, in sample.Schema) (sample.Schema, error) {
	steps := Recipe{Steps: []Step{{Args: args}}}.Complete().Steps
	c := newChecker(steps)
	c.next = 1
	out, _ := c.nested(0, steps[0].Args.(Nesting), in, making{})
	return out, errors.Join(c.errs...)
}

// A checker goes through the tree, in the order of the text.
type checker struct {
	steps []checked // of the whole tree
	top   []int     // which of the steps are in no other
	next  int       // which step is the next
	errs  []error
}

// A checked step is one of which it is known what it is and what it gives.
type checked struct {
	Step
	op  Op            // none, where there is no such operation
	out sample.Schema // nil: not known, because of a mistake
}

func newChecker(steps []Step) *checker {
	c := &checker{}
	for _, s := range (Recipe{Steps: steps}).All() {
		c.steps = append(c.steps, checked{Step: s})
	}
	return c
}

// schemas returns what the steps give.
func (c *checker) schemas() []sample.Schema {
	all := make([]sample.Schema, len(c.steps))
	for i, s := range c.steps {
		all[i] = s.out
	}
	return all
}

// wrong records what is wrong with step i, counted from 0.
func (c *checker) wrong(i int, path, format string, args ...any) {
	c.errs = append(c.errs, &Error{Step: i + 1, Name: c.steps[i].Name, Path: path, Err: fmt.Errorf(format, args...)})
}

// found records what a part of step i found wrong with itself.
func (c *checker) found(i int, part string, err error) {
	if err != nil {
		c.errs = append(c.errs, place(i+1, c.steps[i].Name, part, err)...)
	}
}

func (c *checker) names() {
	if len(c.steps) == 0 {
		c.errs = append(c.errs, &Error{Err: errors.New("has no steps: it begins with a source such as files")})
	}
	first := make(map[string]int)
	for i, s := range c.steps {
		if err := checkName(s.Name); err != nil && s.Name != s.Op { // unknown operations are found later
			c.wrong(i, "name", "%w", err)
		}
		if f, taken := first[s.Name]; taken {
			c.wrong(i, "name", "is that of step #%d too", f+1)
		} else {
			first[s.Name] = i
		}
	}
}

// chain goes along a chain and returns the schema of its results, and their making. It
// goes on after a mistake as if there were none, so that one attempt shows all of them.
func (c *checker) chain(steps []Step, around Surroundings, in sample.Schema) (sample.Schema, making) {
	before := around.Step
	for k := range steps {
		i := c.next
		c.next++
		if around.Op == "" {
			c.top = append(c.top, i)
		}
		misplaced := false
		if c.steps[i].op = c.op(i); c.steps[i].op.Name != "" {
			misplaced = around.batched > 0 && looksInto(c.steps[i].Args) || !c.gathers(i, around) || c.mixes(i, around.making)
			c.place(i, before, k == 0, around)
			c.lists(i, around)
			c.waits(i, around)
			c.lanes(i, around)
			c.overtakes(i, around)
			if s := c.steps[i]; s.Failures != nil {
				c.found(i, "failures", checkFailures(s.Failures, c.steps[i].op, s.Args))
			}
		}
		if misplaced {
			in = nil // what else is wrong with it follows from that
		}
		switch in, around.making = c.step(i, in, around.making); {
		case misplaced:
		case c.steps[i].op.Place == Batching:
			in = c.behind(i, in, k == len(steps)-1 && around.Op == "")
			around.making = making{batched: i + 1}
		case TraitsOf(c.steps[i].Args).Count == Rows:
			around.making = making{}
		default:
			if p, ok := c.steps[i].Args.(Plain); ok {
				around.making = making{nothing: !p.Plain()}
			}
		}
		before = i
	}
	return in, around.making
}

// behind returns the schema that comes to what follows step i, which makes batches: of
// whole ones, unless it is the recipe's last.
func (c *checker) behind(i int, out sample.Schema, last bool) sample.Schema {
	if last || out == nil {
		return out
	}
	if names := TraitsOf(c.steps[i].Args).Batches.Ragged; len(names) > 0 {
		c.wrong(i, "", "has ragged fields, which only your loop gets, and other steps come after it: put these before it, "+
			"or work on its batches with map and where=\"main\"")
	}
	c.steps[i].out = batched(c.steps[i].Args, out, c.shapes(slices.Index(c.top, i)) != nil)
	return c.steps[i].out
}

// step returns the schema of the results of step i, nil if that is not known, and their
// making.
func (c *checker) step(i int, in sample.Schema, m making) (out sample.Schema, after making) {
	if c.steps[i].op.Place == Source {
		in = nil
	}
	known := c.steps[i].op.Name != "" && (in != nil || c.steps[i].op.Place == Source)
	switch n, ok := c.steps[i].Args.(Nesting); {
	case ok:
		out, m = c.nested(i, n, in, m)
	case known && m.batched > 0 && c.differ(i, in, m.batched):
		return nil, m
	case known:
		var err error
		out, err = c.check(i, in, c.rows(m))
		c.found(i, "args", err)
	}
	if !known {
		return nil, m
	}
	c.steps[i].out = out
	return out, m
}

// differ reports what step i cannot stack because the batches that come have different
// numbers of rows.
func (c *checker) differ(i int, in sample.Schema, batched int) bool {
	if !TraitsOf(c.steps[i].Args).Batches.arrays() {
		return false
	}
	for _, f := range in {
		if Stackable(f) != nil {
			before := c.steps[batched-1]
			c.wrong(i, "", "cannot stack batches of different sizes: the field %q is %v; "+
				"give %q a size and drop_last, or put unbatch before %q", f.Name, f.Type, before.Name, c.steps[i].Name)
			return true
		}
	}
	return false
}

// nested checks the chains that step i holds, and then what it says itself.
func (c *checker) nested(i int, n Nesting, in sample.Schema, m making) (sample.Schema, making) {
	around := n.Inside()
	around.Step, around.making = i, m
	var outs []sample.Schema
	var made []making
	for _, chain := range n.Chains() {
		out, m := c.chain(chain, around, in)
		outs, made = append(outs, out), append(made, m)
	}
	m = madeOf(made, nameOf(n))
	if in == nil && !around.Begins {
		return nil, m
	}
	out, err := n.Join(in, outs)
	if m.mixed() && err != nil {
		out, err = c.joinBatches(i, n, in, outs, made, err)
	}
	c.found(i, "args", err)
	return out, m
}

// rows reports whether batches come, with a row for each sample.
func (c *checker) rows(m making) bool {
	return m.batched > 0 && TraitsOf(c.steps[m.batched-1].Args).Batches.Collate == nil
}

// check returns the schema after step i. Rows says whether batches of rows come.
func (c *checker) check(i int, in sample.Schema, rows bool) (sample.Schema, error) {
	if s, ok := c.steps[i].Args.(OnRows); ok && rows {
		return s.CheckRows(in)
	}
	if s, ok := c.steps[i].Args.(Stacking); ok {
		inside := c.bucketsInside()
		if b := TraitsOf(c.steps[i].Args).Batches; b.Collate != nil && !slices.Contains(c.top, i) {
			inside = false // its samples are of its own chain, and of any size
		}
		return s.CheckSizes(in, c.shapes(slices.Index(c.top, i)), inside)
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
	case reflect.TypeOf(argument.Struct(s.Args)) != reflect.TypeOf(argument.Struct(op.New())):
		c.wrong(i, "args", "has arguments of the type %T: must be %T", argument.Struct(s.Args), argument.Struct(op.New()))
		return Op{}
	}
	return op
}

// iterated tells whether a source can be read from its beginning to its end alone.
func iterated(source Args) bool {
	s, ok := source.(interface{ Iterated() bool })
	return ok && s.Iterated()
}

// looksInto reports whether an operation decodes or changes the content of a sample.
func looksInto(args Args) bool { return TraitsOf(args).Content != "" }

// joins tells whether an operation puts sources together.
func joins(op Op, args Args) bool {
	_, holds := args.(Nesting)
	return holds && op.Place == Source
}

// place checks whether step i may be where it does. It comes after another, or is the
// first in what the other holds.
func (c *checker) place(i, before int, first bool, around Surroundings) {
	place := c.steps[i].op.Place
	if place == Source {
		if !first || !around.Begins {
			c.wrong(i, "", "is a source and can only begin a recipe, or what merge puts together")
		}
		return
	}

	switch {
	case first && around.Begins && around.Op == "":
		c.wrong(i, "", "has nothing to read: a recipe begins with a source such as files")
		return
	case first && around.Begins:
		c.wrong(i, "", "has nothing to read: what %q puts together begins with a source such as files", c.steps[before].Name)
		return
	case around.batched > 0 && looksInto(c.steps[i].Args):
		c.wrong(i, "", "comes after %q, which makes batches, and works on samples: put it before, "+
			"or unbatch between them", c.steps[around.batched-1].Name)
		return
	}

	switch {
	case place == Ordering && joins(c.steps[before].op, c.steps[before].Args):
		c.wrong(i, "", "comes after %q: it must directly follow the sources inside it, "+
			"since it sets the order of a source", c.steps[before].Name)
	case place == Ordering && !first && c.orders(i, before):
	case place == Ordering && !first && iterated(c.steps[before].Args) && TraitsOf(c.steps[i].Args).Selects:
		c.wrong(i, "", "comes after %q, whose number of samples is unknown: use a source with a length, "+
			"or leave samples out in the object itself, as itertools.islice does", c.steps[before].Name)
	case place == Ordering && !first && iterated(c.steps[before].Args):
		c.wrong(i, "", "comes after %q, which is iterated over in its own order: use a source with a length, "+
			"or let the object shuffle", c.steps[before].Name)
	case place == Ordering && (c.steps[before].op.Place != Source || first):
		c.wrong(i, "", "comes after %q: it must directly follow the source, since it sets the source's order; "+
			"no sample waits to be mixed with others", c.steps[before].Name)
	}
}

// orders reports whether step i, which orders the samples of a source or says which of
// them come, may follow others that do.
func (c *checker) orders(i, before int) bool {
	if c.steps[before].op.Place != Ordering {
		return false
	}
	this := TraitsOf(c.steps[i].Args)
	if call := this.Call; call != nil && call.Kind == OrderCall {
		return false // its numbers are those of the source
	}

	ordered := -1 // the step that has set the order
	for k := before; k >= 0 && c.steps[k].op.Place == Ordering; k-- {
		if !TraitsOf(c.steps[k].Args).Selects {
			ordered = k
		}
	}

	switch {
	case ordered < 0:
	case !this.Selects:
		return false
	case this.Divides:
		c.wrong(i, "", "comes after %q, which sets the order: put it right after the source, before what orders its samples",
			c.steps[ordered].Name)
	case TraitsOf(c.steps[ordered].Args).Lists > 0:
		c.wrong(i, "", "comes after %q, which gives lists, each a batch: leave samples out in the sampler itself", c.steps[ordered].Name)
	}
	return true
}

// gathers refuses to make batches in a chain by anything but a number of its samples, and
// reports whether step i may be there.
func (c *checker) gathers(i int, around Surroundings) bool {
	b, what := TraitsOf(c.steps[i].Args).Batches, ""
	switch {
	case c.steps[i].op.Place != Batching || around.Op == "":
		return true
	case b == nil || !b.Stacks():
		c.wrong(i, "", "makes batches inside %q, where batch alone can: put it after %[1]q", c.steps[around.Step].Name)
		return false
	case b.Lists:
		what = "has lists, those of a sampler,"
	case b.GlobalSize > 0:
		what = "has global_size, which counts the samples of all ranks,"
	case b.MaxWait > 0:
		what = "has max_wait, which counts samples as they arrive,"
	case len(b.Ragged) > 0:
		what = "has ragged fields, which only the loop gets,"
	default:
		return true
	}
	c.wrong(i, "", "%s inside %q: give size alone, or put it after %[2]q", what, c.steps[around.Step].Name)
	return false
}

// lists checks that lists of a sampler come whole to the batch that makes batches of
// them: what is in between gives a sample for each, or none.
func (c *checker) lists(i int, around Surroundings) {
	t := TraitsOf(c.steps[i].Args)
	if t.Lists > 0 && around.Op != "" {
		c.wrong(i, "", "gives lists, inside %q: batches are made of one source's lists", c.steps[around.Step].Name)
	}
	if t.Batches == nil || !t.Batches.Lists || around.Op != "" {
		return // inside others batches are not made, which place has said
	}

	for _, k := range slices.Backward(c.top[:slices.Index(c.top, i)]) {
		_, sizes := c.steps[k].Args.(Bucketing)
		switch t := TraitsOf(c.steps[k].Args); {
		case t.Call != nil && t.Call.Kind == OrderCall:
			if t.Lists == 0 {
				c.wrong(i, "", "takes the lists of %q, which gives none: give batch a size", c.steps[k].Name)
			}
			return
		case t.Count > Fewer, t.Routing != nil, t.Batches != nil:
			c.wrong(i, "", "takes the sampler's lists as batches, and %q before it makes other samples of theirs: "+
				"give batch a size, and the sampler single numbers", c.steps[k].Name)
			return
		case sizes:
			c.wrong(i, "", "takes the sampler's lists as batches, and %q makes images of several sizes: resize to one", c.steps[k].Name)
			return
		}
	}
	c.wrong(i, "", "takes the lists of a sampler, and there is none: give batch a size")
}

// waits refuses what would say of its own which samples share a batch that is given after
// a time, and what makes other items of one: a run that is resumed in between has other
// batches.
func (c *checker) waits(i int, around Surroundings) {
	t := TraitsOf(c.steps[i].Args)
	if around.batched > 0 {
		before := c.steps[around.batched-1]
		several := t.Count > Fewer || t.Batches != nil && t.Batches.Size != 1 // as that of a survey
		if b := TraitsOf(before.Args).Batches; b != nil && b.MaxWait > 0 && several {
			c.wrong(i, "", "makes other samples of the batches of %q, and max_wait gives these by time, so that no run could be resumed "+
				"in between: leave max_wait out of %[1]q, or do this in your loop", before.Name)
		}
	}
	if t.Batches == nil || t.Batches.MaxWait == 0 {
		return
	}
	if around.batched > 0 {
		c.wrong(i, "", "makes batches of batches, and max_wait is for samples that arrive one by one: "+
			"leave it out, or put unbatch before %q", c.steps[i].Name)
	}
	for _, before := range c.steps[:i] {
		if before.op.Place == Ordering && !TraitsOf(before.Args).Selects {
			c.wrong(i, "", "has max_wait, and %q sets the order, so that every run has the same batches: "+
				"leave one of them out", before.Name)
		}
	}
}

// lanes refuses a number of lanes that is not for the whole recipe.
func (c *checker) lanes(i int, around Surroundings) {
	if TraitsOf(c.steps[i].Args).Lanes == 0 {
		return
	}
	if around.Op != "" {
		c.wrong(i, "", "is inside %q: lanes are of the whole recipe; put it after the source or the merge, in no chain",
			c.steps[around.Step].Name)
		return
	}
	for _, k := range c.top[:slices.Index(c.top, i)] {
		if TraitsOf(c.steps[k].Args).Lanes > 0 {
			c.wrong(i, "", "comes after %q: there is one number of lanes; leave one of them out", c.steps[k].Name)
		}
	}
}

// overtakes refuses samples that pass each other in a branch: the route takes them in the
// order of its input.
func (c *checker) overtakes(i int, around Surroundings) {
	if around.Op == "" || around.Begins {
		return
	}
	if call := TraitsOf(c.steps[i].Args).Call; call != nil && call.Order == CompletionOrder {
		c.wrong(i, "order", `is "completion" inside %q, after which samples keep their order: `+
			`put the step before or after it, or leave order out and set that of the loader`, c.steps[around.Step].Name)
	}
}

// CheckWhole returns what is wrong with a recipe that is to be run as it is, and not only
// its first steps: a sampler's lists would be lost that no step takes as batches.
func (r Recipe) CheckWhole() error {
	var wrong *Error
	if err := r.checkLanes(); err != nil {
		return err
	}
	for i, s := range r.All() {
		switch t := TraitsOf(s.Args); {
		case t.Lists > 0:
			wrong = &Error{Step: i, Name: s.Name,
				Err: errors.New("gives lists, which are batches, and no step takes them: add .batch(), without a size")}
		case t.Batches != nil && t.Batches.Lists:
			return nil
		}
	}
	if wrong == nil {
		return nil
	}
	return wrong
}

// checkLanes refuses lanes that no batch is divided into: a global batch has equally many
// rows of each, or, where samples of one kind come together, a batch of each.
func (r Recipe) checkLanes() error {
	for i, s := range r.All() {
		n := TraitsOf(s.Args).Lanes
		if n == 0 {
			continue
		}
		wrong := &Error{Step: i, Name: s.Name}
		switch b := TraitsOf(r.Steps[len(r.Steps)-1].Args).Batches; {
		case b != nil && b.GlobalSize%n != 0:
			wrong.Err = fmt.Errorf("has %d lanes, which do not divide global_size=%d: each lane has equally many rows of a batch",
				n, b.GlobalSize)
		case b != nil && (b.GlobalSize > 0 || r.alike(b)):
			return nil
		default:
			wrong.Err = errors.New("is for global batches, which every number of ranks shares alike: " +
				"end with a batch that has global_size, or with one of samples of one kind, such as bucket_batch")
		}
		return wrong
	}
	return nil
}

// alike reports whether samples of one kind come into the batches at the end.
func (r Recipe) alike(b *Batches) bool {
	switch {
	case b.Buckets != nil, b.Own != nil:
		return true
	case b.Pack != nil, b.Lists:
		return false
	}
	return r.ImageShapes() != nil
}

// checkFailures returns what is wrong with the failures of a step.
func checkFailures(f *Failures, op Op, args Args) error {
	if args, ok := args.(Failing); ok {
		if err := args.CheckFailures(f); err != nil {
			return err
		}
		return f.Check()
	}
	_, fields := args.(FieldStep)
	t := TraitsOf(args)
	switch {
	case fields, t.Tied != nil, t.Merging != nil: // no value is looked at
		return NoneFail(op.Name)
	case op.Place == Ordering, op.Place == Batching: // no sample is changed
		return NoneFail(op.Name)
	}
	return f.Check()
}
