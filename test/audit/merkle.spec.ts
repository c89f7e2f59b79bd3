import fc from 'fast-check'
import t from 'tap'
import {
  computeRootFromPath,
  GrowingTree,
  type Hash,
  hashLeaf,
  hashNode,
  inclusionPath,
  isConsistent,
  TreeGrowth,
} from '../../src/audit/merkle.ts'

/** The inputs and roots that the certificate-transparency project publishes for RFC 6962. */
const publishedLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
]
const publishedRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** Audit paths published with them: leaf index, tree size, path. */
const publishedPaths: readonly (readonly [index: number, size: number, path: readonly string[]])[] = [
  [0, 1, []],
  [
    0,
    8,
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [
    5,
    8,
    [
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  [
    1,
    5,
    [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
]

const published = publishedLeaves.map((hex) => hashLeaf(Buffer.from(hex, 'hex')))
const hex = (hash: Hash | null): string | undefined => hash?.toString('hex')

const treeOf = (leaves: readonly Hash[]): GrowingTree => {
  const tree = new GrowingTree()
  for (const leaf of leaves) tree.append(leaf)
  return tree
}

t.test('the published roots, for every size', async (t) => {
  for (const [size, root] of publishedRoots.entries()) t.equal(hex(treeOf(published.slice(0, size)).root), root)
})

t.test('the published audit paths', async (t) => {
  for (const [index, size, path] of publishedPaths) {
    t.same(inclusionPath(0, [], published.slice(0, size), index).map(hex), path, `${index} of ${size}`)
    t.equal(
      hex(computeRootFromPath(published[index]!, index, size, inclusionPath(0, [], published.slice(0, size), index))),
      publishedRoots[size],
    )
  }
})

const leafCount = fc.integer({ min: 1, max: 200 })
const leavesOf = (count: number): Hash[] =>
  Array.from({ length: count }, (_, place) => hashLeaf(Buffer.from(`leaf ${place}`)))

t.test('a tree that goes on from its peaks has the root of the one that never stopped', async () => {
  fc.assert(
    fc.property(leafCount, fc.nat(), (count, at) => {
      const leaves = leavesOf(count)
      const before = treeOf(leaves.slice(0, at % count))
      const after = new GrowingTree(before.size, before.peaks)
      for (const leaf of leaves.slice(at % count)) after.append(leaf)
      return after.root.equals(treeOf(leaves).root)
    }),
  )
})

t.test('a path made from the peaks before a leaf leads to the root, and to no other place', async () => {
  fc.assert(
    fc.property(leafCount, fc.nat(), fc.nat(), (count, at, start) => {
      const leaves = leavesOf(count)
      const index = at % count
      const from = start % (index + 1)
      const path = inclusionPath(from, treeOf(leaves.slice(0, from)).peaks, leaves.slice(from), index)
      const { root } = treeOf(leaves)
      const leads = (leaf: Hash, place: number, size: number): boolean =>
        computeRootFromPath(leaf, place, size, path)?.equals(root) ?? false
      const other = (index + 1) % count
      return (
        leads(leaves[index]!, index, count) &&
        (count === 1 || (!leads(leaves[other]!, index, count) && !leads(leaves[index]!, other, count)))
      )
    }),
  )
})

/** RFC 6962, 2.1 and 2.1.2, word by word. */
const splitOf = (count: number): number => 2 ** Math.floor(Math.log2(count - 1))
const rootOf = (leaves: readonly Hash[]): Hash => {
  if (leaves.length === 1) return leaves[0]!
  const split = splitOf(leaves.length)
  return hashNode(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)))
}
const subproofOf = (size: number, leaves: readonly Hash[], isWhole: boolean): readonly Hash[] => {
  if (size === leaves.length) return isWhole ? [] : [rootOf(leaves)]
  const split = splitOf(leaves.length)
  return size <= split
    ? [...subproofOf(size, leaves.slice(0, split), isWhole), rootOf(leaves.slice(split))]
    : [...subproofOf(size - split, leaves.slice(split), false), rootOf(leaves.slice(0, split))]
}

const growthOf = (leaves: readonly Hash[], from: number): TreeGrowth => {
  const growth = new TreeGrowth(treeOf(leaves.slice(0, from)))
  for (const leaf of leaves.slice(from)) growth.append(leaf)
  return growth
}

t.test(
  'a consistency proof is the one of RFC 6962, between any two sizes, and proves the one to the other',
  async (t) => {
    const leaves = leavesOf(70)
    for (let size = 1; size <= leaves.length; size += 1)
      for (let from = 1; from <= size; from += 1) {
        const [before, after] = [treeOf(leaves.slice(0, from)), treeOf(leaves.slice(0, size))]
        const { proof, tree } = growthOf(leaves.slice(0, size), from)
        const expected = subproofOf(from, leaves.slice(0, size), true)
        if (proof.map(hex).join() !== expected.map(hex).join()) t.fail(`the proof from ${from} to ${size}`)
        if (!isConsistent(before, after, proof) || !tree.root.equals(after.root)) t.fail(`from ${from} to ${size}`)
      }
    t.same(growthOf(leaves, 0).proof, [], 'from nothing there is nothing to prove')
  },
)

t.test('a proof is refused for other sizes, other roots, and where one of its hashes is another', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200 }), fc.nat(), fc.nat(), (count, at, flaw) => {
      const leaves = leavesOf(count)
      const from = 1 + (at % (count - 1))
      const [before, after] = [treeOf(leaves.slice(0, from)), treeOf(leaves)]
      const { proof } = growthOf(leaves, from)
      const place = flaw % proof.length
      const other = hashLeaf(Buffer.from('another'))
      return (
        !isConsistent(before, after, proof.with(place, other)) &&
        !isConsistent(before, after, proof.toSpliced(place, 1)) &&
        !isConsistent(before, after, [...proof, other]) &&
        !isConsistent({ size: from, root: other }, after, proof) &&
        !isConsistent(before, { size: count, root: other }, proof) &&
        !isConsistent(after, before, proof)
      )
    }),
  )
  t.notOk(isConsistent(treeOf(leavesOf(3)), { size: 3, root: hashLeaf() }, []))
})

t.test('what cannot be is refused', async (t) => {
  t.throws(() => new GrowingTree(3, [published[0]!]), RangeError)
  t.throws(() => inclusionPath(2, [published[0]!], published.slice(2), 1), RangeError)
  t.equal(computeRootFromPath(published[0]!, 8, 8, []), null)
  t.equal(computeRootFromPath(published[0]!, 0, 1, [published[1]!]), null)
  t.equal(computeRootFromPath(published[0]!, 0, 8, [published[1]!]), null)
})
