// SPDX-License-Identifier: BSD-2-Clause
// A plugin of clang-tidy. Every check looks at all declarations of a translation unit, and those of the
// standard library are many times our own. What a check finds among them is never shown. Without them
// clang-tidy takes half the time.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

// clang-tidy matches the unit itself before it goes through the declarations in it.
class OwnDeclarations : public clang::tidy::ClangTidyCheck {
public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(MatchFinder* finder) override {
        finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
    }

    void check(const MatchFinder::MatchResult& result) override {
        std::vector<clang::Decl*> own;
        for (clang::Decl* const declaration :
             result.Nodes.getNodeAs<clang::TranslationUnitDecl>("unit")->decls()) {
            if (!result.SourceManager->isInSystemHeader(declaration->getLocation())) {
                own.push_back(declaration);
            }
        }
        result.Context->setTraversalScope(own);
    }
};

class Module : public clang::tidy::ClangTidyModule {
public:
    void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
        factories.registerCheck<OwnDeclarations>("previrt-own-declarations");
    }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> module("previrt", "Leaves the system's headers out.");

} // namespace
