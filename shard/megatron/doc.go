// Package megatron reads tokenised text as Megatron-LM keeps it: a .bin file of tokens,
// and beside it an .idx file, which says where documents are.
//
// A sample is a document, and its only field is "tokens", an array of the type that the
// index has. It costs a read of its bytes. Where a file has sequences and no documents, a
// sample is a sequence. Indexes of several modalities are refused.
package megatron
