import { globSync, readFileSync } from 'node:fs'
import { dirname, normalize } from 'node:path'
import ts from 'typescript'

const root = new URL('../../', import.meta.url)

export interface Export {
  readonly name: string
  readonly kind: 'type' | 'value'
}

export interface Import {
  /** Path from the root of the repository. */
  readonly file: string
  readonly names: readonly string[]
}

export interface SourceFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly codeLines: number
  readonly commentLines: number
  readonly comments: readonly { readonly line: number; readonly text: string }[]
  readonly exports: readonly Export[]
  /** Of everything that is declared: parameters, locals, members, types and functions. */
  readonly names: readonly { readonly line: number; readonly text: string }[]
  /** String literals and the text of templates. */
  readonly strings: readonly { readonly line: number; readonly text: string }[]
  readonly imports: readonly Import[]
  /** Members of each class and lines of each function, by name. */
  readonly classes: readonly { readonly name: string; readonly members: number }[]
  readonly functions: readonly { readonly name: string; readonly lines: number }[]
  /** Getters and setters of object literals. */
  readonly literalAccessors: number
}

const isExported = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node) ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)

const exportsOf = (source: ts.SourceFile): readonly Export[] =>
  source.statements.filter(isExported).flatMap((statement): readonly Export[] => {
    if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
      return [{ name: statement.name.text, kind: 'type' }]
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) =>
        ts.isIdentifier(name) ? [{ name: name.text, kind: 'value' as const }] : [],
      )
    if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name !== undefined)
      return [{ name: statement.name.text, kind: 'value' }]
    return []
  })

const namesTaken = (clause: ts.ImportClause | undefined): readonly string[] => {
  const bindings = clause?.namedBindings
  if (bindings === undefined) return []
  if (ts.isNamespaceImport(bindings)) return ['*']
  return bindings.elements.map((element) => (element.propertyName ?? element.name).text)
}

const importsOf = (path: string, source: ts.SourceFile): readonly Import[] =>
  source.statements.flatMap((statement): readonly Import[] => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return []
    const specifier = statement.moduleSpecifier
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return []
    const file = normalize(`${dirname(path)}/${specifier.text}`)
    const names = ts.isImportDeclaration(statement)
      ? namesTaken(statement.importClause)
      : statement.exportClause !== undefined && ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map((element) => (element.propertyName ?? element.name).text)
        : ['*']
    return [{ file, names }]
  })

const linesOf = (source: ts.SourceFile, node: ts.Node): number =>
  source.getLineAndCharacterOfPosition(node.getEnd()).line -
  source.getLineAndCharacterOfPosition(node.getStart(source)).line +
  1

const nameOf = (node: ts.FunctionLikeDeclaration): string => {
  if (node.name !== undefined && ts.isIdentifier(node.name)) return node.name.text
  const { parent } = node
  return parent !== undefined && ts.isVariableDeclaration(parent) && ts.isIdentifier(parent.name)
    ? parent.name.text
    : '(anonymous)'
}

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionDeclaration(node) ||
  ts.isArrowFunction(node) ||
  ts.isFunctionExpression(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isConstructorDeclaration(node)

const sizesOf = (source: ts.SourceFile): Pick<SourceFile, 'classes' | 'functions' | 'literalAccessors'> => {
  const classes: { name: string; members: number }[] = []
  const functions: { name: string; lines: number }[] = []
  let literalAccessors = 0
  const visit = (node: ts.Node): void => {
    if (ts.isClassLike(node)) classes.push({ name: node.name?.text ?? '(anonymous)', members: node.members.length })
    if (isFunction(node)) functions.push({ name: nameOf(node), lines: linesOf(source, node) })
    if (ts.isAccessor(node) && ts.isObjectLiteralExpression(node.parent)) literalAccessors += 1
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { classes, functions, literalAccessors }
}

/** Import and shorthand names are left out: they repeat a name that is declared elsewhere. */
const isDeclaredName = (node: ts.Identifier | ts.PrivateIdentifier): boolean => {
  const { parent } = node
  const isRepeated =
    ts.isImportSpecifier(parent) || ts.isShorthandPropertyAssignment(parent) || ts.isPropertyAccessExpression(parent)
  return !isRepeated && 'name' in parent && parent.name === node
}

const isText = (node: ts.Node): node is ts.LiteralLikeNode =>
  (ts.isStringLiteralLike(node) && !ts.isImportDeclaration(node.parent) && !ts.isExportDeclaration(node.parent)) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node)

const wordingOf = (source: ts.SourceFile): Pick<SourceFile, 'names' | 'strings'> => {
  const names: { line: number; text: string }[] = []
  const strings: { line: number; text: string }[] = []
  const visit = (node: ts.Node): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
    if (isText(node)) strings.push({ line, text: node.text })
    else if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && isDeclaredName(node))
      names.push({ line, text: node.text })
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { names, strings }
}

const commentsOf = (source: ts.SourceFile): SourceFile['comments'] => {
  const found = new Map<number, string>()
  const collect = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ]
    for (const { pos, end } of ranges) found.set(pos, source.text.slice(pos, end))
    for (const child of node.getChildren(source)) collect(child)
  }
  collect(source)
  return [...found].map(([pos, text]) => ({ line: source.getLineAndCharacterOfPosition(pos).line + 1, text }))
}

export const parseSource = (path: string, text: string): SourceFile => {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  const comments = commentsOf(source)
  const isGenerated = text.startsWith('// Generated')
  const commentLines = comments
    .filter(({ text: comment, line }) => (text.split('\n')[line - 1] ?? '').trimStart().startsWith(comment.slice(0, 2)))
    .reduce((sum, { text: comment }) => sum + comment.split('\n').length, 0)
  const filled = text.split('\n').filter((line) => line.trim() !== '').length
  return {
    path,
    codeLines: filled - commentLines,
    commentLines: isGenerated ? 0 : commentLines,
    comments: isGenerated ? [] : comments,
    exports: isGenerated ? [] : exportsOf(source),
    ...(isGenerated ? { names: [], strings: [] } : wordingOf(source)),
    imports: importsOf(path, source),
    ...sizesOf(source),
  }
}

/** Every TypeScript file that matches, in the order of their paths. */
export const readSources = (pattern: string): readonly SourceFile[] =>
  globSync(pattern, { cwd: root })
    .toSorted()
    .map((path) => parseSource(path, readFileSync(new URL(path, root), 'utf8')))
