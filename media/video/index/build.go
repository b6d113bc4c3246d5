package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/store"
)

// Variable names the folder of indices in the environment.
const Variable = "HEADRACE_CACHE"

// Folders are where indices are kept that are not beside their files: the one that the
// environment names, which others may write to as well, and this user's own.
func Folders() (all []string) {
	if named := os.Getenv(Variable); named != "" {
		all = append(all, filepath.Join(named, "video"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "headrace", "video"))
	}
	return all
}

// placesOf are where the index of a file is in the folders.
func placesOf(path string) (all []string) {
	sum := sha256.Sum256([]byte(path))
	name := hex.EncodeToString(sum[:16])
	for _, folder := range Folders() {
		all = append(all, filepath.Join(folder, name[:2], name[2:]+Suffix))
	}
	return all
}

// Options say how [Build] works.
type Options struct {
	Beside bool // indices are written beside the files
	Force  bool // those that fit, too, are written again
	Jobs   int  // files at once; 0: as many as there are cores
}

// Outcome is what became of a file.
type Outcome int

// Files of MP4 and MOV have an index of their own, which is Needless to write again.
const (
	Failed Outcome = iota
	Written
	UpToDate
	Needless
)

// Result is what became of a file, and what is known of it.
type Result struct {
	Path    string
	Outcome Outcome
	Err     error // of Failed
	Frames  int
	Seconds float64
}

// Build writes the indices of files, several at a time, and calls each for every file, in
// any order, one call at a time. Paths must be absolute.
func Build(ctx context.Context, paths []string, o Options, each func(Result)) error {
	jobs := o.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	next := make(chan string)
	var told sync.Mutex
	var all sync.WaitGroup
	for range min(jobs, max(1, len(paths))) {
		all.Go(func() {
			for path := range next {
				r := build(ctx, path, o)
				told.Lock()
				each(r)
				told.Unlock()
			}
		})
	}
	defer all.Wait()
	defer close(next)
	for _, path := range paths {
		select {
		case next <- path:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func build(ctx context.Context, path string, o Options) Result {
	r := Result{Path: path}
	outcome, v, err := one(ctx, path, o)
	if err != nil {
		r.Err = said(path, err)
		return r
	}
	line := &v.Table.Line
	r.Outcome, r.Frames, r.Seconds = outcome, line.Len(), line.Seconds(line.End)
	return r
}

// one writes the index of a file, unless there is one that fits.
func one(ctx context.Context, path string, o Options) (Outcome, *video.Video, error) {
	_, _, away := store.Scheme(path)
	var before identity
	var where original
	if !away { // before it is opened: it may be replaced
		var err error
		if before, where, err = identify(path, nil); err != nil {
			return Failed, nil, err
		}
	}
	file, err := store.Open(ctx, path, 0)
	if err != nil {
		return Failed, nil, err
	}
	defer file.Close()
	if away {
		before, where, _ = identify(path, file)
	}

	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return Failed, nil, err
	}
	if mp4.Probe(head[:]) {
		v, err := video.Open(file, -1)
		return Needless, v, err
	}

	places := placesOf(path)
	if o.Beside {
		places = []string{path + Suffix}
	}
	at := "" // the first place that is not somebody else's
	for _, place := range places {
		c, err := load(place, path, file)
		if err == nil && !o.Force {
			v, err := video.Open(known{file, c}, -1)
			return UpToDate, v, err
		}
		if at == "" && !doubted(err) {
			at = place
		}
	}
	c, err := video.Demux(file)
	if err != nil {
		return Failed, nil, err
	}
	v, err := video.Open(known{file, c}, -1) // a file that is cut off gets no index
	if err != nil {
		return Failed, nil, err
	}
	// A file that is being written would get the index of a part of it.
	if after, now, err := identify(path, file); err != nil || after != before || now != where {
		return Failed, nil, errChanging
	}
	return Written, v, save(ctx, at, file, before, where, c)
}

// known is a file whose container is known.
type known struct {
	video.File
	container *video.Container
}

// Container implements [video.Indexed].
func (f known) Container() (*video.Container, error) { return f.container, nil }
