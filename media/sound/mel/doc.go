// Package mel makes log-mel spectrograms: the power of a recording's frames in bands that
// are as wide as the ear hears them, as a logarithm.
//
// A [Spec] says how; [Presets] are those of Whisper, Kaldi, librosa and torchaudio. Sums
// are float64 and in one order, so results are the same on every machine, and within 1e-4
// of the formulas of these libraries, which compute in float32 themselves.
package mel
