export interface ConfigProblem {
  readonly path: string
  readonly message: string
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, problems: readonly ConfigProblem[]) {
    super(
      [
        `${file}: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`,
        ...problems.map(({ path, message }) => `  ${path || '(top)'}: ${message}`),
      ].join('\n'),
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}
