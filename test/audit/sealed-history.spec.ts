import t from 'tap'
import { nextSealStep } from '../../src/audit/sealed-history.ts'

type Row = readonly [when: string, ...Parameters<typeof nextSealStep>, ReturnType<typeof nextSealStep>]

const nothing = { sealedTo: 0, foldedTo: null, found: 0, unmatched: 0 }
/** 100 frames sealed, and 20 found after them. */
const ahead = { sealedTo: 100, foldedTo: null, found: 20, unmatched: 0 }
/** 100 frames sealed, 50 folded after them, and 20 found after these. */
const folded = { ...ahead, foldedTo: 150 }

const table: readonly Row[] = [
  // What is sealed reaches its beginning
  ['the first checkpoint', nothing, { from: 0, size: 10 }, 'extend'],
  ['the next checkpoint', ahead, { from: 100, size: 110 }, 'extend'],
  ['one of another sealer, which overlaps', ahead, { from: 90, size: 110 }, 'extend'],
  ['one that waits for its frames', { ...ahead, found: 0, unmatched: 5 }, { from: 100, size: 110 }, 'extend'],
  ['the next checkpoint while frames are folded', folded, { from: 100, size: 110 }, 'extend'],

  // It ends within what is sealed
  ['the same again', ahead, { from: 90, size: 100 }, 'compare'],
  ['an old one', ahead, { from: 10, size: 20 }, 'compare'],
  ['an old one while frames are folded', folded, { from: 10, size: 20 }, 'compare'],
  ['an empty one of an empty log', nothing, { from: 0, size: 0 }, 'compare'],

  // The found frames reach its beginning
  ['it begins among them', ahead, { from: 110, size: 130 }, 'append_found'],
  ['it begins at their end', ahead, { from: 120, size: 130 }, 'append_found'],
  ['it begins behind their end', ahead, { from: 121, size: 130 }, 'defer'],
  [
    'it begins among them, and sealed ones are still to come',
    { ...ahead, unmatched: 1 },
    { from: 110, size: 130 },
    'defer',
  ],
  ['the first one does not begin at the beginning', { ...nothing, found: 20 }, { from: 5, size: 10 }, 'append_found'],
  ['the first one begins behind all that is found', nothing, { from: 5, size: 10 }, 'defer'],

  // The folded frames reach its beginning
  ['it begins among the folded', folded, { from: 120, size: 130 }, 'skip_folded'],
  ['it begins at their end', folded, { from: 150, size: 160 }, 'skip_folded'],
  [
    'it begins among them, and sealed ones are still to come',
    { ...folded, unmatched: 1 },
    { from: 120, size: 130 },
    'skip_folded',
  ],
  ['it begins behind them', folded, { from: 160, size: 180 }, 'append_found'],
  ['it begins at the end of the found', folded, { from: 170, size: 180 }, 'append_found'],
  ['it begins behind the found', folded, { from: 171, size: 180 }, 'defer'],
]

for (const [when, position, seal, step] of table)
  t.test(`${step}: ${when}`, async (t) => {
    t.equal(nextSealStep(position, seal), step)
  })
