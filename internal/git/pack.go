package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The bounds of the objects that are read here. Git reads larger ones.
const (
	maxPacks  = 32       // of a repository
	maxDeltas = 128      // of an object, each on another
	maxObject = 32 << 20 // bytes of an object
)

var errAbsent = errors.New("no such object here")

// objectFiles reads the objects of one directory of objects, loose or packed. It knows nothing of borrowed objects, and
// nothing of packs that are made later. It is for one goroutine at a time.
type objectFiles struct {
	root  *os.Root
	packs []*packFile
	heads *bufio.Reader // of inflateHead, kept because a decompressor is costly to make
	z     io.ReadCloser
}

// inflateHead returns a reader of what a compressed stream begins with. It serves until the next call.
func (f *objectFiles) inflateHead(in *bufio.Reader) (*bufio.Reader, error) {
	if f.z == nil {
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, err
		}
		f.z, f.heads = z, bufio.NewReader(z)
	} else if err := f.z.(zlib.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	f.heads.Reset(f.z)
	return f.heads, nil
}

// openObjects opens the directory of a repository's objects.
func openObjects(dir string) (*objectFiles, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	names, err := listNames(root, "pack")
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".idx") })
	if err != nil || len(names) > maxPacks {
		return nil, errors.Join(errUnusual, err, root.Close())
	}
	f := &objectFiles{root: root}
	for _, name := range names {
		p, err := openPack(root, path.Join("pack", strings.TrimSuffix(name, ".idx")))
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.packs = append(f.packs, p)
	}
	return f, nil
}

func (f *objectFiles) close() error {
	errs := []error{f.root.Close()}
	for _, p := range f.packs {
		errs = append(errs, p.index.Close())
		if p.data != nil {
			errs = append(errs, p.data.Close())
		}
	}
	return errors.Join(errs...)
}

// read returns a whole object, whose content has its id.
func (f *objectFiles) read(id ID) (Object, error) {
	o, err := f.readLoose(id)
	if errors.Is(err, os.ErrNotExist) {
		o, err = f.readPacked(id, maxDeltas)
	}
	if err == nil && Identify(id, o.Kind, o.Content) != id {
		err = errUnusual
	}
	return o, err
}

func (f *objectFiles) readLoose(id ID) (Object, error) {
	o, err := f.openLoose(id)
	if err != nil {
		return Object{}, err
	}
	defer o.file.Close()
	if o.size > maxObject {
		return Object{}, errUnusual
	}
	content, err := readExactly(o.content, o.size)
	return Object{Kind: o.kind, Size: o.size, Content: content}, err
}

// looseObject is an object in a file of its own, which is open. Its content is read before the next object's.
type looseObject struct {
	file    *os.File
	kind    Kind
	size    int64
	content io.Reader
}

func (f *objectFiles) openLoose(id ID) (looseObject, error) {
	file, err := openPlain(f.root, id.looseName())
	if err != nil {
		return looseObject{}, err
	}
	o := looseObject{file: file}
	if err := o.readHead(f); err != nil {
		return looseObject{}, errors.Join(err, file.Close())
	}
	return o, nil
}

// readHead reads the kind and the size, which are before the content.
func (o *looseObject) readHead(f *objectFiles) error {
	in, err := f.inflateHead(bufio.NewReader(o.file))
	if err != nil {
		return err
	}
	head, err := in.ReadSlice(0) // it ends within the reader's buffer
	if err != nil {
		return err
	}
	kind, size, _ := strings.Cut(string(head[:len(head)-1]), " ")
	o.kind, o.content = Kind(kind), in
	if o.size, err = strconv.ParseInt(size, 10, 64); err != nil || o.size < 0 {
		return errUnusual
	}
	return nil
}

func (f *objectFiles) readPacked(id ID, depth int) (Object, error) {
	p, at, err := f.findPacked(id)
	if err != nil {
		return Object{}, err
	}
	return f.readAt(p, id, at, depth)
}

// findPacked returns the first pack that has an object, and its offset there.
func (f *objectFiles) findPacked(id ID) (*packFile, int64, error) {
	for _, p := range f.packs {
		if at, err := p.find(id); !errors.Is(err, errAbsent) {
			return p, at, err
		}
	}
	return nil, 0, errAbsent
}

// packedKinds are the kinds of the entries that hold a whole object.
var packedKinds = map[byte]Kind{1: Commit, 2: Tree, 3: Blob, 4: Tag}

// The entries that hold a delta.
const (
	offsetDelta = 6
	nameDelta   = 7
)

// readAt reads the entry of a pack at an offset. like has the form of the repository's ids.
func (f *objectFiles) readAt(p *packFile, like ID, at int64, depth int) (Object, error) {
	if depth == 0 {
		return Object{}, errUnusual
	}
	code, size, in, err := f.openEntry(p, at)
	if err != nil {
		return Object{}, err
	}
	if size > maxObject {
		return Object{}, errUnusual
	}
	if kind, whole := packedKinds[code]; whole {
		content, err := inflate(in, size)
		return Object{Kind: kind, Size: size, Content: content}, err
	}
	base, err := f.readBase(p, like, at, code, in, depth-1)
	if err != nil {
		return Object{}, err
	}
	delta, err := inflate(in, size)
	if err != nil {
		return Object{}, err
	}
	base.Content, err = applyDelta(base.Content, delta)
	base.Size = int64(len(base.Content))
	return base, err
}

// openEntry reads the head of a pack's entry: its code, and the size of what follows. in is right after them.
func (f *objectFiles) openEntry(p *packFile, at int64) (code byte, size int64, in *bufio.Reader, err error) {
	if at < 0 {
		return 0, 0, nil, errUnusual
	}
	if err := p.openData(f.root); err != nil {
		return 0, 0, nil, err
	}
	in = bufio.NewReader(io.NewSectionReader(p.data, at, math.MaxInt64-at))
	b, err := in.ReadByte()
	if err != nil {
		return 0, 0, nil, err
	}
	code, size = b>>4&7, int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = in.ReadByte(); err != nil || shift > 32 {
			return 0, 0, nil, errors.Join(errUnusual, err)
		}
		size |= int64(b&0x7f) << shift
	}
	return code, size, in, nil
}

// readBase reads the object that a delta changes. in is right after the entry's size.
func (f *objectFiles) readBase(p *packFile, like ID, at int64, code byte, in *bufio.Reader, depth int) (Object, error) {
	switch code {
	case offsetDelta:
		back, err := readBack(in)
		if err != nil || back <= 0 || back > at {
			return Object{}, errors.Join(errUnusual, err)
		}
		return f.readAt(p, like, at-back, depth)
	case nameDelta:
		name, err := readExactly(in, int64(len(like)/2))
		if err != nil {
			return Object{}, err
		}
		from, err := p.find(ID(hex.EncodeToString(name)))
		if err != nil {
			return Object{}, err
		}
		return f.readAt(p, like, from, depth)
	}
	return Object{}, errUnusual
}

func inflate(in io.Reader, size int64) ([]byte, error) {
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	return readExactly(z, size)
}

// readExactly reads n bytes. It does not look at what follows: the id of an object proves its content.
func readExactly(in io.Reader, n int64) ([]byte, error) {
	content := make([]byte, n)
	_, err := io.ReadFull(in, content)
	return content, err
}

// packFile is a pack and its index of version 2.
type packFile struct {
	name   string // without the suffix
	index  *os.File
	data   *os.File    // nil: nothing was read yet
	fanout [256]uint32 // how many ids begin with this byte or a lower one
}

// The parts of an index: a head, the fanout, the ids in order, their checksums, and their offsets.
const (
	indexMagic  = "\xfftOc\x00\x00\x00\x02"
	fanoutEnd   = int64(len(indexMagic)) + 256*4
	largeOffset = 1 << 31
)

func openPack(root *os.Root, name string) (*packFile, error) {
	index, err := openPlain(root, name+".idx")
	if err != nil {
		return nil, err
	}
	head := make([]byte, fanoutEnd)
	if _, err = index.ReadAt(head, 0); err == nil && !bytes.HasPrefix(head, []byte(indexMagic)) {
		err = errUnusual
	}
	if err != nil {
		return nil, errors.Join(err, index.Close())
	}
	p := &packFile{name: name, index: index}
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(head[len(indexMagic)+4*i:])
	}
	return p, nil
}

func (p *packFile) openData(root *os.Root) (err error) {
	if p.data == nil {
		p.data, err = openPlain(root, p.name+".pack")
	}
	return err
}

// find returns the offset of an object in the pack.
func (p *packFile) find(id ID) (int64, error) {
	want, err := hex.DecodeString(string(id))
	if err != nil {
		return 0, err
	}
	low, high := uint32(0), p.fanout[want[0]]
	if want[0] > 0 {
		low = p.fanout[want[0]-1]
	}
	size, name := int64(len(want)), make([]byte, len(want))
	for low < high {
		mid := low + (high-low)/2
		if _, err := p.index.ReadAt(name, fanoutEnd+int64(mid)*size); err != nil {
			return 0, err
		}
		switch c := bytes.Compare(name, want); {
		case c == 0:
			return p.offset(int64(mid), size)
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, errAbsent
}

// offset returns the offset of the object whose id is at a place of the index.
func (p *packFile) offset(at, size int64) (int64, error) {
	count := int64(p.fanout[255])
	offsets := fanoutEnd + count*(size+4)
	var b [8]byte
	if _, err := p.index.ReadAt(b[:4], offsets+4*at); err != nil {
		return 0, err
	}
	small := binary.BigEndian.Uint32(b[:4])
	if small < largeOffset {
		return int64(small), nil
	}
	if _, err := p.index.ReadAt(b[:], offsets+4*count+8*int64(small-largeOffset)); err != nil {
		return 0, err
	}
	large := binary.BigEndian.Uint64(b[:])
	if large > math.MaxInt64 {
		return 0, fmt.Errorf("offset %d: %w", large, errUnusual)
	}
	return int64(large), nil
}
