import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, normalize } from 'node:path'
import { findBannedWordsIn } from './words.ts'

const root = new URL('../../', import.meta.url)
const readmeLinesMax = 180
const pageLinesMax = 250

export interface Page {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
}

const readPage = (path: string): Page => ({ path, text: readFileSync(new URL(path, root), 'utf8') })
const existsInRepository = (path: string): boolean => existsSync(new URL(path, root))

interface Fence {
  /** What follows the backticks: a language, and of what is shown whether a test compares it (`output`) or not (`example`). */
  readonly info: string
  readonly body: string
  /** The prose between the fence before it and this one. */
  readonly before: string
}

export const fencesOf = ({ text }: Page): readonly Fence[] => {
  const parts = text.split(/^```([^\n]*)\n(.*?)^```$/gms)
  return Array.from({ length: (parts.length - 1) / 3 }, (_, place) => {
    const [before = '', info = '', body = ''] = parts.slice(3 * place)
    return { info, body, before }
  })
}

const findFenceProblems = (page: Page): readonly string[] =>
  fencesOf(page).flatMap(({ info, body }, place, fences) => {
    const [line = ''] = body.split('\n')
    if (/^(?:text|json)?$/.test(info)) return [`${page.path}: a block is neither output nor an example: ${line}`]
    if (!info.endsWith(' output') || fences[place - 1]?.info === 'sh') return []
    return [`${page.path}: output does not follow its commands: ${line}`]
  })

const proseOf = (text: string): string =>
  text
    .replaceAll(/^```.*?^```$/gms, '')
    .replaceAll(/`[^`\n]+`/g, '')
    .replaceAll(/\[[^\]\n]*\]\([^)\n]*\)/g, '')

interface Link {
  /** Path from the root of the repository. */
  readonly target: string
  readonly anchor: string | undefined
}

const linksOf = ({ path, text }: Page): readonly Link[] =>
  [...text.replaceAll(/^```.*?^```$/gms, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [file = '', anchor] = link.split('#')
      return { target: file === '' ? path : normalize(`${dirname(path)}/${file}`), anchor }
    })

/** As GitHub makes them of headings. */
const anchorsOf = ({ text }: Page): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )

/** The README, the index of docs/, and the pages in the order of that index: commands of one use what those before it made. */
export const documentationInOrder = (): readonly Page[] => {
  const index = readPage('docs/README.md')
  const listed = linksOf(index).map(({ target }) => target)
  const pages = listed.filter((target) => target.startsWith('docs/') && target.endsWith('.md'))
  return [readPage('README.md'), index, ...[...new Set(pages)].filter(existsInRepository).map(readPage)]
}

const findLinkProblems = (pages: readonly Page[]): readonly string[] =>
  pages.flatMap((page) =>
    linksOf(page).flatMap(({ target, anchor }) => {
      if (!existsInRepository(target)) return [`${page.path} links to ${target}, which does not exist`]
      const linked = pages.find(({ path }) => path === target)
      if (anchor === undefined || linked === undefined || anchorsOf(linked).has(anchor)) return []
      return [`${page.path} links to #${anchor}, which ${target} does not have`]
    }),
  )

const repositoryPath = /(?<![\w./-])(?:src|test|docs|schemas|sandbox|deploy|migrations|dashboard)\/[\w./-]*([<*{])?/g

/** Of a path with a placeholder, the folder before it. */
const existingPart = (named: string, placeholder: string | undefined): string =>
  placeholder === undefined ? named.replace(/[.-]+$/, '') : named.replace(/[^/]*$/, '')

const findPathProblems = ({ path, text }: Page): readonly string[] =>
  [...new Set([...text.matchAll(repositoryPath)].map(([named, placeholder]) => existingPart(named, placeholder)))]
    .filter((named) => !existsInRepository(named))
    .map((named) => `${path} names ${named}, which does not exist`)

const isWritten = ({ text }: Page): boolean => !text.startsWith('<!-- Generated')

/** A row of the reference without a description, apart from the parts of paths, which are ids. */
const undescribed = /^\| (`[^`]+`) \|(?! path \|).*\| (?:Required\. )? ?\|$/gm

/** What is wrong in these pages, of which the first is the README. */
export const findPageProblems = (pages: readonly Page[]): readonly string[] => [
  ...findLinkProblems(pages),
  ...pages.flatMap(findPathProblems),
  ...pages.flatMap(findFenceProblems),
  ...pages
    .filter(isWritten)
    .flatMap(({ path, text }) =>
      findBannedWordsIn(proseOf(text)).map((word) => `${path} uses the banned word ${word}`),
    ),
  ...pages.flatMap(({ path, text }) => {
    const [lines, most] = [text.split('\n').length - 1, path === 'README.md' ? readmeLinesMax : pageLinesMax]
    return lines > most ? [`${path} has ${lines} lines, ${most} allowed`] : []
  }),
  ...pages
    .filter(({ path }) => path.startsWith('docs/reference/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(undescribed)].map(([, name]) => `${path}: ${name} has no description`),
    ),
]

export const findDocumentationProblems = (): readonly string[] => {
  const pages = documentationInOrder()
  const unlisted = globSync('docs/**/*.md', { cwd: root }).filter((file) => !pages.some(({ path }) => path === file))
  return [...findPageProblems(pages), ...unlisted.map((file) => `${file} is not listed in docs/README.md`)]
}
