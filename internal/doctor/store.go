package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/store"
)

// firstBytes is how much of an object is read.
const firstBytes = 64 << 10

// Store examines whether the objects of a name can be listed and read: an object, or a
// folder, of a store or of this machine, or the first that a pattern finds. Of several
// names, such as braces stand for, the first is read, and the last looked at.
func Store(ctx context.Context, names ...string) Report {
	e := examiner{report: Report{Build: version.Here(), Usable: true}}
	e.object(ctx, names[0])
	if last := len(names) - 1; last > 0 && e.report.Usable {
		o, took, err := timed(func() (store.Object, error) {
			in, object, err := store.Of(names[last])
			if err != nil {
				return store.Object{}, err
			}
			return in.Stat(ctx, object)
		})
		if err != nil {
			err = fmt.Errorf("%s: %w", store.Shown(names[last]), err)
		}
		e.reach("last", fmt.Sprintf("the last of %d names: %d bytes, version %s", len(names), o.Size, o.Version), err, took)
	}
	return e.report
}

func (e *examiner) object(ctx context.Context, name string) {
	in, object, err := store.Of(name)
	if err != nil {
		e.reach("name", "", err, 0)
		return
	}
	if t, ok := in.(store.Telling); ok {
		for _, f := range t.Tell(ctx, object) {
			e.add(Finding{Topic: "store", Name: f.Name, Fact: f.Says})
		}
	}

	_, unlisted := in.(store.Unlisted)
	stat := func() (store.Object, error) { return in.Stat(ctx, object) }
	if store.IsPattern(name) {
		stat = func() (store.Object, error) { return store.First(ctx, name, nil) }
	}
	o, took, err := timed(stat)
	if missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotRegular); missing && !unlisted {
		o, took, err = timed(func() (store.Object, error) { return firstBelow(ctx, in, object) })
		e.reach("listing", fmt.Sprintf("the first object is %q", o.Name), err, took)
	} else {
		if store.IsPattern(name) {
			e.reach("listing", fmt.Sprintf("the first object is %q", o.Name), err, took)
		}
		e.reach("object", fmt.Sprintf("%d bytes, version %s", o.Size, o.Version), err, took)
	}
	if err != nil {
		return
	}
	n := min(o.Size, firstBytes)
	_, took, err = timed(func() (store.Object, error) { return o, in.ReadAt(ctx, o, make([]byte, n), 0) })
	e.reach("reading", fmt.Sprintf("the first %d bytes", n), err, took)
}

// reach adds what came of a request.
func (e *examiner) reach(name, fact string, err error, took time.Duration) {
	f := Finding{Topic: "store", Name: name, Essential: true, Fact: fmt.Sprintf("%s, in %v", fact, took.Round(time.Millisecond/10)),
		Value: took.Seconds()}
	if err != nil {
		f.Status, f.Fact, f.Value = Missing, err.Error(), nil
	}
	e.add(f)
}

func timed(f func() (store.Object, error)) (store.Object, time.Duration, error) {
	since := time.Now()
	o, err := f()
	return o, time.Since(since), err
}

// firstBelow returns the first object of a folder.
func firstBelow(ctx context.Context, in store.Store, name string) (store.Object, error) {
	prefix := strings.TrimSuffix(name, "/") + "/"
	if name == "" {
		prefix = ""
	}
	for o, err := range in.Objects(ctx, prefix) {
		return o, err
	}
	return store.Object{}, fmt.Errorf("%w: there is neither an object of this name nor one below it", fs.ErrNotExist)
}
