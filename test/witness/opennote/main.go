// Opens the note on the standard input with the keys of a log and of a witness, by the libraries that logs use.
package main

import (
	"fmt"
	"io"
	"os"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	check(err)
	log, err := note.NewVerifier(os.Args[1])
	check(err)
	witness, err := torchwood.NewCosignatureVerifier(os.Args[2])
	check(err)
	opened, err := note.Open(text, note.VerifierList(log, witness))
	check(err)
	checkpoint, err := torchwood.ParseCheckpoint(opened.Text)
	check(err)
	fmt.Printf("%s %d %d\n", checkpoint.Origin, checkpoint.N, len(opened.Sigs))
}
