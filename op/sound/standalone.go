package sound

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/recipe"
)

// Standalone decodes recordings that belong to no sample. The zero value decodes none.
type Standalone struct{ args *DecodeAudio }

// StandaloneArgs are arguments for [NewStandalone], into which JSON may be decoded.
func StandaloneArgs() recipe.Args { return new(DecodeAudio) }

// NewStandalone decodes by such arguments, or by their defaults if they are nil. It
// returns an error if they are wrong.
func NewStandalone(args recipe.Args) (s Standalone, err error) {
	if args == nil {
		args = StandaloneArgs()
	}
	s.args, err = args.(*DecodeAudio).Completed()
	return s, err
}

// Random reports whether a window begins anywhere, which has to be drawn.
func (s Standalone) Random() bool { return s.args.Start == "random" }

// Keeps reports whether damaged recordings are decoded as far as they go.
func (s Standalone) Keeps() bool { return s.args != nil && s.args.Damaged == "keep" }

// Raw says how samples are stored in a file that has nothing else.
func (s Standalone) Raw() sound.Raw { return s.args.Raw() }

// Stream returns the number of the audio stream to decode, or -1 for the one that players
// choose.
func (s Standalone) Stream() int { return argument.OrElse(s.args.Stream, -1) }

// Rate returns the samples per second, or 0 for those of the file.
func (s Standalone) Rate() int { return argument.OrElse(s.args.Rate, 0) }

// Channels returns the number of channels, or 0 for those of the file.
func (s Standalone) Channels() int { return argument.OrElse(s.args.Channels, 0) }

// Arrangement arranges n samples of each channel as the arguments ask for them.
func (s Standalone) Arrangement(n, channels int) Arrangement {
	return arrangementOf(s.args, n, channels)
}

// Open opens a recording for its window, which must not be random. Open opens a track.
func (s Standalone) Open(open func(sound.Options) (sound.Stream, error)) (*AudioWindow, error) {
	return OpenAudio(open, s.args, nil)
}

// AudioInfo describes a recording: its rate and channels, which are those after a filter,
// and its samples before that.
type AudioInfo struct {
	Rate     int   `json:"sample_rate"`
	Channels int   `json:"channels"`
	Samples  int64 `json:"samples"`
}

// Describe describes a recording as it is stored, whatever window is asked for. Open
// opens a track.
func (s Standalone) Describe(open func(sound.Options) (sound.Stream, error)) (i AudioInfo, err error) {
	args := *s.args
	args.Rate, args.Channels, args.Filter = nil, nil, ""
	w, err := openAudio(open, &args)
	if err != nil {
		return i, err
	}
	defer w.Close()
	i = AudioInfo{w.Rate(), w.Channels(), w.Samples()}
	if s.args.Filter != "" {
		g, err := sound.NewGraph(s.args.Filter, w.Info())
		if err != nil {
			return i, err
		}
		defer g.Close()
		i.Rate, i.Channels = g.Rate(), g.Channels()
	}
	return i, nil
}

// Choice returns the decoder.
func (s Standalone) Choice() av.Choice { return s.args.Choice() }

// Filter returns the graph that samples go through; "": none.
func (s Standalone) Filter() string { return s.args.Filter }

// OpenHeard opens the audio of a file from one second to another, as [OpenHeard] does.
func (s Standalone) OpenHeard(file sound.File, begin, end float64) (*Heard, error) {
	return OpenHeard(file, begin, end, s.args)
}
