package sound

import (
	"context"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media/sound"
)

// filtered has the window go through its graph, and closes it.
func (a *AudioWindow) filtered() (*AudioWindow, error) {
	defer a.Close()
	at, end := a.from, min(a.from+a.n, a.Samples())
	channels := int64(a.Channels())
	f, err := sound.NewFiltered(a.args.Filter, a.Info(), func(_ context.Context, to []float32) (int, error) {
		n := min(int64(len(to))/channels, end-at)
		err := a.Read(to[:n*channels], at)
		at += n
		return int(n), err
	}, argument.OrElse(a.args.Rate, 0), argument.OrElse(a.args.Channels, 0))
	if err != nil {
		return nil, err
	}
	defer f.Close()

	most := a.args.Samples(f.Rate()) // negative: all
	all, err := f.All(context.Background(), most)
	if err != nil {
		return nil, err
	}
	w, err := sound.NewWindow(sound.InSamples(all, f.Rate(), f.Channels(), a.Damaged()), 0, 0)
	if err != nil {
		return nil, err
	}
	made := &AudioWindow{Window: w, args: a.args, n: most}
	if most < 0 {
		made.n = w.Samples()
	}
	return made, made.fit(a.args.Short, w.Samples())
}
