package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// ID is a full object id in lower-case hexadecimal: 40 digits in a SHA-1
// repository, 64 in a SHA-256 one.
type ID string

// Valid reports whether id has the form of an id. Only a valid id may be put where git would take a
// name or an option.
func (id ID) Valid() bool {
	if len(id) != 2*sha1.Size && len(id) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Zero returns the id that stands for no object, in the form of id's repository.
func (id ID) Zero() ID { return ID(bytes.Repeat([]byte("0"), len(id))) }

// NewHash returns the hash of id's repository.
func (id ID) NewHash() hash.Hash {
	if len(id) == 2*sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// Kind is the kind of an object.
type Kind string

// The kinds of objects; the set is closed.
const (
	Commit Kind = "commit"
	Tree   Kind = "tree"
	Blob   Kind = "blob"
)

// packed returns the number of a kind in a pack.
func (k Kind) packed() byte {
	switch k {
	case Commit:
		return 1
	case Tree:
		return 2
	}
	return 3
}

// Identify returns the id of content as an object of the given kind, in the repository of like.
func Identify(like ID, kind Kind, content []byte) ID {
	h := like.NewHash()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return ID(hex.EncodeToString(h.Sum(nil)))
}

// Pack collects new objects in memory. Make it with NewPack, and store all of them with Store.
type Pack struct {
	like    ID
	seen    map[ID]bool
	objects []newObject
}

type newObject struct {
	kind    Kind
	content []byte
}

// NewPack makes an empty pack for the repository of like.
func NewPack(like ID) *Pack { return &Pack{like: like, seen: map[ID]bool{}} }

// Add puts an object into the pack, once, and returns its id. The caller must not change content until the pack
// is stored.
func (p *Pack) Add(kind Kind, content []byte) ID {
	id := Identify(p.like, kind, content)
	if !p.seen[id] {
		p.seen[id] = true
		p.objects = append(p.objects, newObject{kind, content})
	}
	return id
}

// bytes returns the pack in git's format.
func (p *Pack) bytes() []byte {
	var out bytes.Buffer
	out.WriteString("PACK")
	out.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 2}, uint32(len(p.objects))))
	for _, o := range p.objects {
		o.writeEntry(&out)
	}
	sum := p.like.NewHash()
	sum.Write(out.Bytes())
	return sum.Sum(out.Bytes())
}

// writeEntry writes the type and size, four bits and then seven a byte, and the compressed content.
func (o newObject) writeEntry(out *bytes.Buffer) {
	size := uint64(len(o.content))
	b := o.kind.packed()<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	out.WriteByte(b)
	z, _ := zlib.NewWriterLevel(out, zlib.BestSpeed) // the level is valid
	z.Write(o.content)                               // a buffer takes everything
	z.Close()
}

// Store writes the objects of p as loose objects, and returns when they are on disk. Storing them again is a
// no-op, and a kill half-way leaves only unreferenced objects. Git unpacks them without --strict, because --strict would
// also check, and refuse, the content of old objects that the new ones refer to.
func (r Repo) Store(ctx context.Context, p *Pack) error {
	return r.Do(ctx, Command{Args: []string{"unpack-objects", "-q"}, Stdin: bytes.NewReader(p.bytes())})
}
