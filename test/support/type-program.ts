import ts from 'typescript'

/** Of a source that is no file, beside which the packages are found. */
export const createTypeProgram = (fileName: string, source: string): ts.Program => {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === fileName || fileExists.call(host, name)
  host.getSourceFile = (name, version) =>
    name === fileName ? ts.createSourceFile(name, source, version) : getSourceFile.call(host, name, version)
  return ts.createProgram([fileName], options, host)
}
