package sound

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/sound/mel"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[LogMel]("log_mel", recipe.Between, "Make a log-mel spectrogram, float32, of one channel of audio.").Explained(`
It does not resample: decode at the preset's rate. A recording too short for one frame is a bad sample.`,
	`words = hr.files("words").decode_audio(16000, "mono", 1.0)`,
	`words.log_mel("whisper").batch(32)`).Called("preset"))

// LogMel are the arguments of the operation log_mel. Its preset has the defaults.
type LogMel struct {
	Field  string   `json:"field,omitempty" default:"audio" doc:"the field with the samples, float32 or int16 [time], which is removed"`
	To     string   `json:"to,omitempty" default:"mel" doc:"the field for the spectrogram"`
	Preset string   `json:"preset,omitempty" choices:"whisper,kaldi,librosa,torchaudio" default:"whisper"`
	Rate   *int     `json:"rate,omitempty" min:"1" max:"1000000" example:"16000"`
	FFT    *int     `json:"n_fft,omitempty" min:"2" max:"32768" example:"512" doc:"length of a transform, in samples"`
	Window *int     `json:"win_length,omitempty" min:"2" max:"32768" example:"400"`
	Hop    *int     `json:"hop_length,omitempty" min:"1" max:"32768" example:"160" doc:"samples between frames"`
	Mels   *int     `json:"n_mels,omitempty" min:"1" max:"1024" example:"80" doc:"number of bands"`
	Low    *float64 `json:"f_min,omitempty" min:"0" max:"500000" example:"20" doc:"Hz where the first band begins"`
	High   *float64 `json:"f_max,omitempty" min:"1" max:"500000" example:"7600" doc:"Hz where the last band ends; by default half the rate"`
	Layout string   `json:"layout,omitempty" choices:"TM,MT" default:"TM"`
}

// Docs implements [argument.Documented].
func (*LogMel) Docs() map[string]string {
	return map[string]string{
		"preset": "whose spectrogram: whisper: 80 bands at 16 kHz, without padding to 30 s; kaldi: 80 bands, as " +
			"torchaudio's 'compliance.kaldi.fbank' without dither, on 16-bit values (-32768 to 32767); librosa: " +
			"'feature.melspectrogram' and 'power_to_db', 128 bands at 22,050 Hz; torchaudio: 'MelSpectrogram' and " +
			"'AmplitudeToDB(\"power\")', 128 bands at 16 kHz",
		"rate":       "samples per second; like all that follow, by default the preset's",
		"win_length": "length of a frame, in samples; by default the preset's, or 'n_fft' if given",
		"layout": "TM: [frames, bands], as 'bucket_batch' and 'pack' need it; MT: [bands, frames], as Whisper's " +
			"models do",
	}
}

// Spec returns the specification of the spectrogram. The arguments must be complete.
func (l *LogMel) Spec() mel.Spec {
	s := mel.Presets[l.Preset]
	for to, v := range map[*int]*int{&s.Rate: l.Rate, &s.FFT: l.FFT, &s.Window: l.Window, &s.Hop: l.Hop, &s.Mels: l.Mels} {
		if v != nil {
			*to = *v
		}
	}
	if l.FFT != nil && l.Window == nil {
		s.Window = min(s.Window, s.FFT)
		if l.Preset != "kaldi" {
			s.Window = s.FFT
		}
	}
	if l.Low != nil {
		s.Low = *l.Low
	}
	if l.High != nil {
		s.High = *l.High
	}
	return s
}

// Type returns the type of the spectrogram of so many samples, which may be unknown. The
// arguments must be complete and checked.
func (l *LogMel) Type(samples int) (sample.Type, error) {
	s := l.Spec()
	frames := tensor.Unknown
	if samples != tensor.Unknown {
		n, err := s.Frames(samples)
		if err != nil {
			return sample.Type{}, err
		}
		frames = n
	}
	if l.Layout == "MT" {
		return sample.TensorType(tensor.Float32, s.Mels, frames), nil
	}
	t := sample.TensorType(tensor.Float32, frames, s.Mels)
	t.Rate = float64(s.Rate) / float64(s.Hop)
	return t, nil
}

// Check implements [recipe.Args].
func (l *LogMel) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(l); err != nil {
		return nil, err
	}
	s := l.Spec()
	if err := s.Check(); err != nil {
		return nil, err
	}

	at := in.Find(l.Field)
	if at < 0 {
		return nil, recipe.Wrong("field", "is %q: the samples have the fields %s", l.Field, words.List(in.Names()))
	}
	if l.To != l.Field && in.Find(l.To) >= 0 {
		return nil, recipe.Wrong("to", "is %q: the samples have a field of this name already", l.To)
	}
	t := in[at].Type
	sounds := t.DType == tensor.Float32 || t.DType == tensor.Int16
	if t.Kind != sample.Tensor || t.Axes != "" || len(t.Shape) != 1 || !sounds {
		return nil, recipe.Wrong("field", "is %q, which is %v: must be float32 or int16 [time]; "+
			"give channels=\"mono\" to decode_audio", l.Field, t)
	}
	out, err := l.Type(t.Shape[0])
	if err != nil {
		return nil, err
	}
	return in.Replace(l.Field, sample.Field{Name: l.To, Type: out}), nil
}

// Traits implements [recipe.Traited].
func (*LogMel) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }
