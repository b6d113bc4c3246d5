package serve

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/metrics"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/wire"
)

func (s *session) open(ctx context.Context, f wire.Frame) error {
	var open wire.Open
	if err := parse(f, &open); err != nil {
		return err
	}

	r, config, options, err := s.read(open)
	if err != nil {
		return err
	}
	from, err := parseState(open.State)
	if err != nil {
		return err
	}

	var metricsAt metrics.Address
	if open.Metrics != "" {
		if metricsAt, err = metrics.ParseAddress(open.Metrics); err != nil {
			return coded(wire.CodeRecipe, err)
		}
	}

	options.Announce, options.Held, options.Lost, options.Ledger = s.announce, s.held, s.lost, open.Replay != nil
	s.stream.Store(1)
	if s.loader, err = s.list(ctx, r, config, options); err != nil {
		return err
	}
	s.pump = idlePump()

	if from != nil {
		if err := s.loader.Check(*from); err != nil {
			return err
		}
	}

	told := openedAnswer{Info: s.loader.Info()}
	if open.Replay != nil {
		if from, err = s.seek(ctx, r, config, options.Python, from, *open.Replay); err != nil {
			return err
		}
		told.State = *from
	}

	s.describeShown(metricsAt.Labels.Loader, open, config, told.Info)
	unpaged := s.openShown(open, config, &told)

	// OPENED goes out first: the client waits for it, and everything else needs its
	// fields.
	if err := s.conn.SendJSON(wire.KindOpened, 0, told); err != nil {
		return err
	}
	if unpaged != nil {
		s.note("page", unpaged.Error())
	}

	s.engine.warn.Do(func() {
		if v := s.engine.client; v != "" && v != version.Version {
			s.note("version", fmt.Sprintf("the engine is version %s, the package that started it %s: install the two from one release"+
				" (HEADRACE_ENGINE, where it is set, names the engine)", version.Version, v))
		}
		if d, err := media.DecoderFor(media.JPEG); err == nil && d.Name() == (media.GoJPEG{}).Name() {
			s.note("decoder", "this engine was built without C and decodes JPEG with Go's decoder: "+
				"several times slower, and with other pixels"+
				" than libjpeg-turbo where chroma is subsampled; install libjpeg's headers and build again")
		}
	})

	if open.Metrics != "" {
		s.publish(metricsAt, config)
	}
	if open.Idle {
		return nil
	}
	return s.start(ctx, 1, from, open.SerialUntil)
}

// openedAnswer is OPENED: the facts of the loader, and the address of its page.
type openedAnswer struct {
	headrace.Info
	Page string `json:"page,omitempty"` // the address
}

// list makes the loader. With many files that takes minutes, so it ends early if the
// client is gone.
func (s *session) list(ctx context.Context, r recipe.Recipe, c headrace.Config, o headrace.Options) (*headrace.Loader, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.conn.WatchHangup(func() { cancel(errVanished) })()
	loader, err := headrace.Open(ctx, r, c, o)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return loader, err
}

// read parses what OPEN and PREVIEW have in common.
func (s *session) read(open wire.Open) (r recipe.Recipe, c headrace.Config, o headrace.Options, err error) {
	if r, err = recipe.Parse(open.Recipe); err != nil {
		return r, c, o, coded(wire.CodeRecipe, err)
	}
	if c, err = headrace.ParseConfig(open.Config); err != nil {
		return r, c, o, coded(wire.CodeRecipe, err)
	}
	python, err := interpreter(open.Python, s.program)
	if err != nil {
		return r, c, o, fmt.Errorf("%w: python: %w", wire.ErrProtocol, err)
	}
	o = headrace.Options{Gate: s.engine.gate, Warn: s.note, Consumer: s.engine.trainer, Looped: s.looped, Python: python, Log: s.logs.add}
	if s.engine.page != nil {
		o.InFlight = func() headrace.InFlight {
			return inFlight(cellWriter{page: s.engine.page, session: s.number, stream: s.stream.Load()})
		}
	}
	return r, c, o, nil
}
