package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/node"
)

// process has the loaders of this process that are shown.
type process struct {
	every time.Duration // between two readings

	mu      sync.Mutex // guards what follows
	loaders []*Watched // those that are shown
	read    chan struct{}
	server  *server // nil: no page was asked for
	circle  *node.Circle
	end     context.CancelFunc // nil: no loader is shown
	served  *sync.WaitGroup

	drawing sync.Mutex // held while steps are drawn

	asking sync.Mutex // guards what other processes have told
	told   []*Moment
	at     time.Time
}

var here = newProcess(time.Second)

// counted numbers the loaders that this process has shown.
var counted atomic.Int64

func newProcess(every time.Duration) *process {
	return &process{every: every, read: make(chan struct{})}
}

// Watch shows a loader until it is closed: to headrace top, and on the pages of this
// user's processes. [Serve] opens a page.
func Watch(l Loader) *Watched { return here.watch(l) }

// Serve opens the page of this process, unless it is open, and returns its address. Port
// 0 is any that is free. It fails if another program has the port, or if no loader is
// watched. The page ends with the last loader.
func Serve(port int) (address string, err error) { return here.serve(port) }

func (p *process) watch(l Loader) *Watched {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &Watched{loader: l, id: fmt.Sprintf("%d-%d", os.Getpid(), counted.Add(1)), began: time.Now()}
	w.name = p.nameFor(cut(l.Name, 60))
	w.progress.Batches = l.Batches
	w.close = sync.OnceFunc(func() { p.leave(w) })
	if p.end == nil {
		p.begin()
	}
	w.sample(time.Now())
	p.loaders = append(p.loaders, w)
	return w
}

// nameFor gives a loader another name if one of this process has it.
func (p *process) nameFor(name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.loaders, func(w *Watched) bool { return w.name == name })
	}
	for n := 1; ; n++ {
		try := name
		switch {
		case name == "":
			try = "loader " + strconv.Itoa(n)
		case n > 1:
			try = name + " " + strconv.Itoa(n)
		}
		if !taken(try) {
			return try
		}
	}
}

// begin starts to read loaders, and to answer other processes; the lock is held.
func (p *process) begin() {
	ctx, end := context.WithCancel(context.Background())
	served := new(sync.WaitGroup)
	p.end, p.served = end, served
	served.Go(func() { p.run(ctx) })
	p.join(ctx, served)
}

// leave ends that a loader is shown, and all with the last one.
func (p *process) leave(w *Watched) {
	p.mu.Lock()
	p.loaders = slices.DeleteFunc(p.loaders, func(other *Watched) bool { return other == w })
	if len(p.loaders) > 0 {
		p.mu.Unlock()
		return
	}
	end, served, circle := p.end, p.served, p.circle
	p.end, p.served, p.circle, p.server = nil, nil, nil, nil
	p.mu.Unlock()

	end()
	served.Wait()
	if circle != nil {
		circle.Close()
	}
}

// run reads all loaders, again and again.
func (p *process) run(ctx context.Context) {
	ticks := time.NewTicker(p.every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks.C:
			for _, w := range p.all() {
				w.sample(now)
			}
			p.mu.Lock()
			close(p.read)
			p.read = make(chan struct{})
			p.mu.Unlock()
		}
	}
}

func (p *process) all() []*Watched {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.loaders)
}

// next is closed when loaders were read once more.
func (p *process) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

// moments returns those of this process.
func (p *process) moments() []*Moment {
	all := []*Moment{}
	for _, w := range p.all() {
		w.mu.Lock()
		all = append(all, w.now)
		w.mu.Unlock()
	}
	return all
}

// everywhere are the moments of all processes of the user, those of one program together.
func (p *process) everywhere(ctx context.Context) []*Moment {
	return slices.SortedStableFunc(slices.Values(append(p.moments(), p.others(ctx)...)), func(a, b *Moment) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rank, b.Rank))
	})
}

// historyOf returns the history of a loader of this process.
func (p *process) historyOf(id string) (History, bool) {
	for _, w := range p.all() {
		if w.id == id {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.history.of(), true
		}
	}
	return History{}, false
}
