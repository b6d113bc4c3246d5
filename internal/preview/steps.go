package preview

import (
	"context"
	"reflect"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/live"
	"github.com/headrace/headrace/recipe"
)

// Steps draws the first sample of an epoch after each step that changes it, up to the
// first that makes batches, or calls a function of the program, which is not called. It
// has a loader for each step, one after the other.
func Steps(ctx context.Context, r recipe.Recipe, o headrace.Options, epoch int) ([]live.Step, error) {
	r = r.Complete()
	var all []live.Step
	for i, s := range r.Steps {
		shorter := r
		shorter.Steps = slices.Clone(r.Steps[:i+1])
		if recipe.TraitsOf(s.Args).Batches != nil {
			break
		}
		if calls(shorter) {
			all = append(all, live.Step{
				Name: s.Name, Why: "this page calls no functions of your program: the newest sample has what they return",
			})
			break
		}
		one, err := first(ctx, shorter, o, epoch)
		if err != nil {
			return nil, err
		}
		all = append(all, live.Step{Name: s.Name, Sample: one})
	}
	return changes(all), nil
}

func calls(r recipe.Recipe) bool {
	for _, s := range r.All() {
		if recipe.TraitsOf(s.Args).Call != nil {
			return true
		}
	}
	return false
}

// first draws the first sample of an epoch.
func first(ctx context.Context, r recipe.Recipe, o headrace.Options, epoch int) (live.Sample, error) {
	lost := func(l headrace.Lost) live.Sample {
		return live.Sample{Key: short(l.Key), Epoch: epoch, Fields: []live.Field{{Name: l.Stage, Text: short(Reason(l.Err))}}}
	}
	rows, err := Open(ctx, r, headrace.Config{Workers: new(1), Memory: new(int64(1 << 28))}, o, 1, lost)
	if err != nil {
		return live.Sample{}, err
	}
	defer rows.Loader.Close()
	artist, info := ArtistOf(rows.Loader), rows.Loader.Info()
	all, err := rows.Take(ctx, epoch, func(b *headrace.Batch) (live.Sample, error) { return artist.Draw(RowOf(b, info)), nil })
	if err != nil || len(all) == 0 {
		return live.Sample{Epoch: epoch, Fields: []live.Field{}}, err
	}
	return all[0], nil
}

// changes leaves out the steps before the sample is the one that comes, and of each
// sample the fields that the step has left as they were.
func changes(all []live.Step) (changed []live.Step) {
	key := ""
	for _, s := range all {
		if s.Why == "" {
			key = s.Sample.Key
		}
	}

	var before []live.Field
	for _, s := range all {
		if s.Why == "" {
			if s.Sample.Key != key {
				continue
			}
			now := s.Sample.Fields
			s.Sample.Fields = slices.DeleteFunc(slices.Clone(now), func(f live.Field) bool {
				return slices.ContainsFunc(before, func(b live.Field) bool { return reflect.DeepEqual(b, f) })
			})
			if before = now; len(s.Sample.Fields) == 0 {
				continue
			}
		}
		changed = append(changed, s)
	}
	return changed
}
