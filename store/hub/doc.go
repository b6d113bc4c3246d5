// Package hub is the store of hf:// names: the repositories and buckets of the Hugging
// Face Hub, and of servers that speak like it.
//
// A program that imports it has the scheme; see store.Register. Names are those of
// Hugging Face's own library: see [split].
//
// The Hub counts requests, so it is asked for little: once for the commit of a branch,
// once for each thousand files of a listing, and once for each file in the time that its
// answer is valid, which is where the file's content is. All ranges are read there, and
// the token is not sent there. Package steady sends the requests.
package hub
