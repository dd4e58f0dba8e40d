import { createHash } from "crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "fs";
import { tmpdir } from "os";
import { join } from "path";
import { CfnStack } from "aws-cdk-lib";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { Construct } from "constructs";

const RELEASE_CHARACTERS = 10;

/** What a stack of ragdrop is made of. */
export interface RagdropProps {
  /** Folder that `make artifact` wrote. */
  readonly artifact: string;
  /**
   * Parameters of template.yaml by name; docs/deploy.md lists them.
   * @default - each has a default
   */
  readonly parameters?: { readonly [name: string]: any };
}

/**
 * ragdrop from its artifact: the template with its logical ids, so one in each stack, its code as assets.
 *
 * The stack's name must be lower case and have at most 25 characters: the document bucket is named after it.
 */
export class Ragdrop extends Construct {
  /** The template, for changes that no parameter makes. */
  public readonly template: CfnInclude;

  constructor(scope: Construct, id: string, props: RagdropProps) {
    super(scope, id);
    const artifact = JSON.parse(readFileSync(join(props.artifact, "artifact.json"), "utf-8"));
    const files = Object.entries<any>(artifact.files).map(([name, file]) => {
      return { ...file, asset: new Asset(this, `${name}File`, { path: join(props.artifact, file.file) }) };
    });
    this.template = new CfnInclude(this, "Template", {
      templateFile: released(props, artifact),
      parameters: { ...props.parameters, ArtifactBucket: files[0].asset.s3BucketName },
    });
    for (const file of files) {
      const resource = this.template.getResource(file.resource);
      if (resource instanceof CfnStack) {
        resource.templateUrl = file.asset.httpUrl;
      } else {
        resource.addPropertyOverride(file.property, file.asset.s3ObjectKey);
      }
    }
  }

  /** Value of an output of template.yaml, such as `ApiUrl`; docs/deploy.md lists them. */
  public output(name: string): string {
    return this.template.getOutput(name).value;
  }
}

/** The template with a digest of code and parameters where its release belongs, so that both make new versions. */
function released(props: RagdropProps, artifact: any): string {
  const digest = createHash("sha256").update(artifact.template.sha256 + JSON.stringify(props.parameters ?? {}));
  const text = readFileSync(join(props.artifact, artifact.template.file), "utf-8");
  const file = join(mkdtempSync(join(tmpdir(), "ragdrop-")), "template.json");
  writeFileSync(file, text.split(artifact.release).join(digest.digest("hex").slice(0, RELEASE_CHARACTERS)));
  return file;
}
