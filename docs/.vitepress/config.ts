// The site of these pages: `make site` builds it with VitePress.
import { readFileSync } from 'node:fs'

interface Token {
  readonly type: string
  readonly children: Token[] | null
  attrGet(name: string): string | null
}

interface State {
  readonly tokens: readonly { children: Token[] | null }[]
  readonly env: { readonly relativePath: string }
}

interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } }
}

const index = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

const linksIn = (text: string) =>
  [...text.matchAll(/\[([^\]]+)\]\(([^):]+)\.md\)/g)].map(([, title, page]) => ({ text: title, link: `/${page}` }))

const sidebar = index
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ text: section.slice(0, section.indexOf('\n')), collapsed: false, items: linksIn(section) }))

/** Of the repository, and no page of the site: in another folder, or no Markdown. */
const isFile = (link: string, page: string): boolean => {
  const { protocol, pathname } = new URL(link, `file:///docs/${page}`)
  return protocol === 'file:' && !/^\/docs\/.*\.md$/.test(pathname)
}

/** Files of the repository that are no page are not on the site: their names remain, without a link. */
const withoutLinksToFiles = (tokens: readonly Token[], page: string): Token[] => {
  let isInLink = false
  return tokens.filter((token) => {
    if (token.type === 'link_open' && isFile(token.attrGet('href') ?? '', page)) {
      isInLink = true
      return false
    }
    const ends = isInLink && token.type === 'link_close'
    if (ends) isInLink = false
    return !ends
  })
}

export default {
  title: 'Model gateway',
  description: 'A gateway to language and video models whose bills can be audited.',
  outDir: '../out/site',
  cacheDir: '../out/site-cache',
  rewrites: { 'README.md': 'index.md' },
  themeConfig: { sidebar, search: { provider: 'local' }, outline: [2, 3] },
  markdown: {
    config: (markdown: MarkdownIt): void =>
      markdown.core.ruler.push('links-to-files', ({ tokens, env }) => {
        for (const token of tokens)
          if (token.children !== null) token.children = withoutLinksToFiles(token.children, env.relativePath)
      }),
  },
}
