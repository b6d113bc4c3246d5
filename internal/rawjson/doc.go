// Package rawjson looks into JSON as it is written, without making a tree of it.
//
// A recipe may list millions of paths, and a tree of them would take many times the
// memory of their text. encoding/json cannot be used for what recipes need: it loses
// repeated keys, lone surrogates, which are bytes of paths, and the places of things in
// the text. It checks the document, once; all that looks into a [Value] relies on that.
//
// Decoders that tell offsets were tried on a list of a million paths (45 MB, nested as
// in recipes). That of encoding/json takes 12 times as long as these 80 lines of
// scanning. jsontext, of github.com/go-json-experiment/json, is as fast, and would save
// 40 lines for a module of 21,000; when the standard library has it without an
// experiment, [Value.Elements] and [Value.Members] are what it replaces.
package rawjson
