package sound

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"path"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

// mostHeld is how many bytes of decoded recordings a step keeps, if that is not more than
// a quarter of the byte budget: an hour at 16 kHz. Others are decoded again at each use.
const mostHeld = int64(256 << 20)

// mostRecording is how large the file of one may be.
const mostRecording = 1 << 30

// recordings are files that a step lays over samples: noises or impulses. They are listed
// once, and decoded when they are drawn.
type recordings struct {
	env   *core.Env
	files *store.Table
	rate  int
	first bool // of several channels the first is taken, instead of their mean
	held  atomic.Int64
	all   []decoded
}

type decoded struct {
	sync.Mutex
	samples []float32
}

// newRecordings lists the files of an argument of a step.
func newRecordings(env *core.Env, step, argument string, pattern recipe.Path, rate int, first bool) (*recordings, error) {
	var files *store.Table
	err := machine.Patiently(context.Background(), func() (err error) {
		files, err = store.List(context.Background(), "", string(pattern), sound.Suffixes())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", source.ErrSource, argument, err)
	}
	env.Holds(step, digest(files))
	return &recordings{env: env, files: files, rate: rate, first: first, all: make([]decoded, files.Len())}, nil
}

// digest says in a few bytes what files are, for states: how many, and a sum of their
// names. Of those on this machine it has their sizes and how they begin, too; a store
// would be asked for each.
func digest(files *store.Table) string {
	sum, away := sha256.New(), files.Away()
	head := make([]byte, 4<<10)
	for i := range files.Len() {
		fmt.Fprintf(sum, "%q ", path.Base(files.Key(i)))
		if away {
			continue
		}
		f, err := store.Open(context.Background(), files.Path(i), 0)
		if err != nil {
			continue // it fails when it is drawn
		}
		n, _ := f.ReadAt(head[:min(f.Size(), int64(len(head)))], 0)
		fmt.Fprintf(sum, "%d %x ", f.Size(), head[:n])
		f.Close()
	}
	return fmt.Sprintf("%d:%x", files.Len(), sum.Sum(nil)[:8])
}

// get returns the samples of a recording, which are not to be changed.
func (r *recordings) get(ctx context.Context, it *record.Record, i int) ([]float32, error) {
	d := &r.all[i]
	d.Lock()
	defer d.Unlock()
	if d.samples != nil {
		return d.samples, nil
	}
	var all []float32
	err := r.env.Watched(ctx, it, func() (err error) {
		all, err = r.decode(ctx, i)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("headrace: %q: %w", r.files.Key(i), err)
	}
	lane, size := it.Source.Lane, int64(4*len(all))
	if r.held.Add(size) <= min(mostHeld, lane.Limit()/4) && lane.Reserve(core.ForRecordings, size) == nil {
		d.samples = all
	} else {
		r.held.Add(-size)
	}
	return all, nil
}

func (r *recordings) decode(ctx context.Context, i int) ([]float32, error) {
	var content []byte
	err := machine.Patiently(ctx, func() (err error) {
		content, err = store.Read(ctx, r.files.Path(i), mostRecording)
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := sound.Open(content, -1)
	if err != nil {
		return nil, err
	}
	channels := 1
	if r.first {
		channels = 0
	}
	w, err := sound.NewWindow(s, r.rate, channels)
	if err != nil {
		s.Close()
		return nil, err
	}
	defer w.Close()

	// All of it is held at once, and is indexed by numbers of 32 bits elsewhere.
	n, channels := w.Samples(), w.Channels()
	if n == 0 || n > math.MaxInt32/int64(channels) {
		return nil, fmt.Errorf("it has %d samples of %d channels", n, channels)
	}
	all := make([]float32, int(n)*channels)
	if err := w.Read(all, 0); err != nil {
		return nil, err
	}

	// The first channel moves to the front; with one, nothing does.
	for i := range int(n) {
		all[i] = all[i*channels]
	}
	return all[:n:n], nil
}
