// Package rawjson looks into JSON as it is written, without making a tree of it.
//
// A recipe may list millions of paths, and a tree of them would take many times the memory of
// their text. encoding/json cannot be used for what recipes need: it loses repeated keys, lone
// surrogates, which are bytes of paths, and the places of things in the text. It checks the
// document, once; all that looks into a [Value] relies on that, and scans at the speed of
// memory. (encoding/json's Decoder, too, can tell offsets, but checks each level of nesting
// again, twice.)
package rawjson
