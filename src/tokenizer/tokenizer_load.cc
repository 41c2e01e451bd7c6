#include <algorithm>
#include <utility>

#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_parts.h"

namespace spindrift {
namespace {

Result<BpeOptions> read_bpe_options(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  BpeOptions options;
  SPINDRIFT_TRY(options.unk_token, reader.optional_string("unk_token"));
  SPINDRIFT_TRY(const auto prefix, reader.optional_string("continuing_subword_prefix"));
  SPINDRIFT_TRY(const auto suffix, reader.optional_string("end_of_word_suffix"));
  SPINDRIFT_TRY(options.fuse_unk, reader.boolean_or("fuse_unk", false));
  SPINDRIFT_TRY(options.byte_fallback, reader.boolean_or("byte_fallback", false));
  SPINDRIFT_TRY(options.ignore_merges, reader.boolean_or("ignore_merges", false));
  options.continuing_subword_prefix = prefix.value_or("");
  options.end_of_word_suffix = suffix.value_or("");
  if (const ConfigNode* dropout = reader.optional("dropout")) {
    if (dropout->kind != ConfigNode::Kind::kInteger && dropout->kind != ConfigNode::Kind::kNumber) {
      return dropout->unexpected("a number");
    }
    if (dropout->kind == ConfigNode::Kind::kNumber || dropout->integer != 0) {
      return Error{ErrorCode::kUnsupported,
                   dropout->where + ": expected null or 0, found merge dropout"};
    }
  }
  SPINDRIFT_TRY_STATUS(reader.finish());
  return options;
}

Status check_version(ConfigReader& reader) {
  SPINDRIFT_TRY(const auto version, reader.optional_string("version"));
  if (version && *version != "1.0") {
    return Error{ErrorCode::kUnsupported,
                 reader.optional("version")->unexpected("\"1.0\"").message};
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(path, error);
  const std::filesystem::path file_path = is_directory ? path / "tokenizer.json" : path;
  SPINDRIFT_TRY(TokenizerFile file, read_tokenizer_file(file_path));
  SPINDRIFT_TRY(SpecialTokens special, read_special_tokens(file_path.parent_path()));
  return assemble(std::move(file), std::move(special));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(std::string_view json,
                                                          const std::string& name,
                                                          SpecialTokens special) {
  SPINDRIFT_TRY(TokenizerFile file, parse_tokenizer_file(json, name));
  return assemble(std::move(file), std::move(special));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::assemble(TokenizerFile file,
                                                             SpecialTokens special) {
  auto parts = std::make_unique<Parts>();
  ConfigReader reader(file.root);
  SPINDRIFT_TRY_STATUS(check_version(reader));
  reader.skip("truncation");
  reader.skip("padding");
  parts->vocabulary = std::move(file.vocabulary);
  SPINDRIFT_TRY(parts->normalizers, make_normalizers(reader.optional("normalizer")));
  SPINDRIFT_TRY(parts->added, AddedTokens::build(reader.optional("added_tokens"), parts->vocabulary,
                                                 parts->normalizers));
  SPINDRIFT_TRY(parts->pre_tokenizers, make_pre_tokenizers(reader.optional("pre_tokenizer")));
  SPINDRIFT_TRY(const ConfigNode* model, reader.object("model"));
  SPINDRIFT_TRY(BpeOptions options, read_bpe_options(*model));
  SPINDRIFT_TRY(parts->bpe, Bpe::build(parts->vocabulary, file.merges, std::move(options),
                                       parts->pre_tokenizers.pieces_are_bytes, model->where));
  parts->vocab_size = std::max(parts->vocabulary.end(), parts->added.end());
  SPINDRIFT_TRY(parts->post_processor,
                make_post_processor(reader.optional("post_processor"), parts->vocab_size));
  SPINDRIFT_TRY(parts->decoders, make_decoders(reader.optional("decoder")));
  SPINDRIFT_TRY_STATUS(reader.finish());

  parts->bytes.resize(static_cast<size_t>(parts->vocab_size));
  parts->special_by_id.resize(static_cast<size_t>(parts->vocab_size));
  for (TokenId id = 0; id < parts->vocab_size; ++id) {
    std::string token(parts->decoder_spelling(id));
    parts->special_by_id[static_cast<size_t>(id)] = parts->added.is_special(token);
    for (const auto& stage : parts->decoders) token = stage->token_bytes(std::move(token));
    parts->bytes[static_cast<size_t>(id)] = std::move(token);
  }

  parts->special = std::move(special);
  if (!parts->post_processor.before.empty()) {
    parts->bos_id = parts->post_processor.before.front();
    parts->bos_text = parts->decoder_spelling(*parts->bos_id);
  } else if (parts->special.bos) {
    parts->bos_text = *parts->special.bos;
    TokenId id = parts->added.id_of(parts->bos_text);
    if (id == kNoToken) id = parts->vocabulary.find(parts->bos_text);
    if (id != kNoToken) parts->bos_id = id;
  }
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(parts)));
}

}  // namespace spindrift
